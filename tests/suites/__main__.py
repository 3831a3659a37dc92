"""Run libraries' own tests plain and recorded, and compare them test by test.

    python -m tests.suites [NAME ...] [--mode plain,packs,woven] [--checkout NAME=PATH] [--jobs N] [--limit S]
                           [--write] [--notes]

Without names, all suites of `suites.toml` run. `--write` stores the figures in `figures.json`, by suite and Python.
Known differences are listed in `known.toml`. It is written by hand, because each entry needs a cause that someone has found.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.suites.comparison import Judgement, Run, judge
from tests.suites.environment import EnvironmentFault, environment_of
from tests.suites.running import run, warm_up
from tests.suites.table import HERE, MODES, PYTHON, Suite, known_tests, read_known, read_suites

FIGURES = HERE / "figures.json"


@dataclass
class Result:
    """The result of a suite.

    Attributes:
        suite: the suite.
        plain: the plain runs, by their files and folders.
        runs: the recorded runs, by mode.
        judgements: the judgements on the recorded runs, by mode.
        fault: why nothing could be compared; empty if something was.
    """

    suite: Suite
    plain: dict[tuple[str, ...], Run] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    judgements: dict[str, Judgement] = field(default_factory=dict)
    fault: str = ""

    @property
    def is_good(self) -> bool:
        """Whether the runs differ only in known tests."""
        return not self.fault and all(judgement.is_good for judgement in self.judgements.values())

    def __str__(self) -> str:
        return "\n".join([self.fault, *map(str, self.judgements.values())]).strip()


def try_suite(suite: Suite, modes: tuple[str, ...], checkout: Path | None = None) -> Result:
    """Run a suite in some modes and plain, and judge the differences; run it plain twice if there are unknown ones."""
    result = Result(suite)
    known = read_known()
    chosen = [mode for mode in MODES if mode in modes and (mode == "plain" or mode in suite.modes)]
    try:
        with environment_of(suite, checkout) as environment:
            if environment.is_new:
                warm_up(suite, environment, chosen)
            for mode in chosen:
                part = suite.of_mode(mode)
                plain = result.plain.get(part.tests) or run(part, environment, "plain")
                result.plain[part.tests] = plain
                if mode == "plain":
                    continue
                recorded = result.runs[mode] = run(part, environment, mode)
                causes = known_tests(known, suite.name, mode)
                judgement = judge(plain, recorded, causes)
                if judgement.unlisted or judgement.vanished:
                    judgement = judge(plain, recorded, causes, run(part, environment, "plain"))
                result.judgements[mode] = judgement
            fault = next((plain.fault for plain in result.plain.values() if plain.fault), "")
            if fault and not result.judgements:
                result.fault = f"plain run: {fault}"
    except EnvironmentFault as error:
        result.fault = str(error)
    return result


def shown(result: Result, *, notes: bool) -> str:
    """Return the result of a suite as readable text."""
    title = f"{result.suite.name} {result.suite.version}, Python {PYTHON}"
    lines = [title] if result.plain else [f"{title}: {result.fault}"]
    for tests, plain in result.plain.items():
        of = "" if tests == result.suite.tests else f" of {', '.join(tests)}"
        lines.append(
            f"  plain: {len(plain.outcomes)} tests{of}, {plain.cpu:.1f} s of CPU, {plain.rss // 1024} MB"
        )
    for mode, judgement in result.judgements.items():
        recorded, plain = result.runs[mode], result.plain[result.suite.of_mode(mode).tests]
        count = len(judgement.known) + len(judgement.unlisted)
        line = f"  {mode}: {count} differ ({len(judgement.known)} known, {len(judgement.flaky)} flaky)"
        if not judgement.faults:
            ratio = recorded.cpu / max(plain.cpu, 0.01)
            line += f", {recorded.crossings} crossings, CPU ×{ratio:.1f}, {recorded.rss // 1024} MB"
        lines.append(line)
        if not judgement.is_good:
            lines.append(textwrap.indent(str(judgement), "    "))
        if notes and recorded.notes:
            lines.append(textwrap.indent(recorded.notes.rstrip(), "    "))
    if result.fault and result.plain:
        lines.append(f"  {result.fault}")
    return "\n".join(lines)


def write(results: list[Result], path: Path = FIGURES) -> None:
    """Write the figures of these runs into the file; replace older ones of the same suite and Python."""
    figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for result in results:
        if not result.plain or result.fault or any(plain.fault for plain in result.plain.values()):
            continue
        entry = figures.setdefault(result.suite.name, {}).setdefault(PYTHON, {})
        entry["version"] = result.suite.version
        complete_run = result.plain.get(result.suite.tests)
        if complete_run is not None:
            entry |= {"tests": len(complete_run.outcomes), "rss_mb": complete_run.rss // 1024}
        for mode, judgement in result.judgements.items():
            if judgement.faults:
                continue
            part = result.suite.of_mode(mode)
            recorded, plain = result.runs[mode], result.plain[part.tests]
            entry[mode] = (
                {} if plain is complete_run else {"tests": len(plain.outcomes), "of": list(part.tests)}
            )
            entry[mode] |= {
                "differ": len(judgement.known) + len(judgement.unlisted),
                "crossings": recorded.crossings,
                "cpu_ratio": round(recorded.cpu / max(plain.cpu, 0.01), 1),
                "rss_mb": recorded.rss // 1024,
            }
    path.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run the requested suites; return 0 if only known tests differ, and else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.suites", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="suites; all of them by default")
    parser.add_argument("--mode", default=",".join(MODES), help="plain, packs, woven, with commas between")
    parser.add_argument(
        "--checkout", action="append", default=[], metavar="NAME=PATH", help="in the place of the sdist"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="suites at the same time")
    parser.add_argument(
        "--limit", type=int, metavar="S", help="seconds that a run may take; default as in suites.toml"
    )
    parser.add_argument("--write", action="store_true", help="keep the figures in figures.json")
    parser.add_argument("--notes", action="store_true", help="show what autochron says of each recorded run")
    options = parser.parse_args(arguments)
    suites, modes = read_suites(), tuple(options.mode.split(","))
    checkouts = dict(argument.partition("=")[::2] for argument in options.checkout)
    names: list[str] = options.names or [
        name for name, suite in suites.items() if name in checkouts or not suite.from_checkout
    ]
    for unknown in {*names, *checkouts} - suites.keys():
        parser.error(f"there is no suite {unknown}; there are {', '.join(suites)}")
    for unknown in set(modes) - set(MODES):
        parser.error(f"there is no mode {unknown}; there are {', '.join(MODES)}")

    for name in names:
        if name in suites and suites[name].from_checkout and name not in checkouts:
            parser.error(f"the sdist of {name} has no tests; give --checkout {name}=PATH")

    def one(name: str) -> Result:
        checkout = Path(checkouts[name]).resolve() if name in checkouts else None
        suite = replace(suites[name], limit=options.limit) if options.limit else suites[name]
        if checkout is not None:
            suite = replace(suite, version="checkout")
        result = try_suite(suite, modes, checkout)
        print(shown(result, notes=options.notes), flush=True)
        return result

    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(one, names))
    if options.write:
        write(results)
    return 0 if all(result.is_good for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
