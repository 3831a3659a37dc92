"""`autochron mutate`."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Self

from autochron.cli.options import FLAG, MANY, VALUE, Parsed, parse, percentage, seconds
from autochron.errors import UsageError
from autochron.mutate.model import Study
from autochron.mutate.report import tallies
from autochron.mutate.report.edge_tests import write_tests
from autochron.mutate.report.files import write_all
from autochron.mutate.report.text import write_study
from autochron.mutate.study import Arguments, StudyOptions, folders_of, read_arguments, study_of
from autochron.report.text import is_terminal

HELP = """\
usage: autochron mutate [INCIDENT ...] [OPTION ...]
       autochron mutate merge FOLDER ... [--out FOLDER]

Change the tool that a cut-point test guards, one place at a time, and say which changes the test notices: beside a test
that serves everything, one of mocks, one that compares all that the tools give, and one with other inputs. INCIDENT is a
folder with a trace and its test; without one, the incidents below this folder. 0: the test notices each change that lets
the unsafe action through; 1: it does not, or notices fewer than --fail-under says, or plain cosmic-ray disagrees; 2: it
could not be tried.

  --operators SET    what is changed: paper, core, extended or thresholds; extended unless given
  --tool FILE:NAME   the function to change, from the incident's folder; unless given, what the tests swap in, or what is live
  --include-signature
                     also change decorators, defaults, docstrings and f-strings
  --jobs N           so many processes at a time; as many as there are cores unless given
  --shard K/N        the K-th of N parts; `merge` puts them together
  --out FOLDER       where results go, and what was tried so far: the same command goes on from there;
                     .autochron/mutation unless given
  --timeout S        seconds that a trial may take; ten times what the fix takes unless given, and at least 2
  --memory MB        megabytes that a trial may take; 1024 unless given
  --inputs N         so many inputs for a call at most; 96 unless given
  --hypothesis N     and so many that hypothesis draws
  --write-tests FILE write the inputs that tell mutants from the fix as a test of pytest; {incident} stands for its name
  --crosscheck PERCENT
                     so many of the mutants are tried by plain cosmic-ray, too; 2 unless given, 0 for none
  --explanations FILE
                     why mutants live: TOML with [[equivalent]], those that can't be told from the fix, and [[survivor]],
                     those that it would take something else to kill: tables of incident, mutant and why
  --executor dask    one incident a task on a Dask cluster: --scheduler ADDRESS, or one of this machine
  --fail-under P     1 where the cut-point test notices fewer than so many percent
  --survivors        list what the cut-point test does not notice, too
  --json             the study as JSON
  --quiet            only how it came out
"""

_OPTIONS = {
    "--operators": VALUE, "--tool": MANY, "--include-signature": FLAG, "--jobs": VALUE, "--shard": VALUE, "--out": VALUE,
    "--timeout": VALUE, "--memory": VALUE, "--inputs": VALUE, "--hypothesis": VALUE, "--write-tests": VALUE,
    "--crosscheck": VALUE, "--explanations": VALUE, "--executor": VALUE, "--scheduler": VALUE, "--fail-under": VALUE,
    "--survivors": FLAG, "--json": FLAG, "--quiet": FLAG, "--help": FLAG, "-h": FLAG,
}  # fmt: skip

_OUT = os.path.join(".autochron", "mutation")


def mutate(arguments: list[str]) -> int:
    """Make a study, or put shards together."""
    parsed = parse("mutate", arguments, _OPTIONS, stop=False)
    if parsed.flags & {"-h", "--help"}:
        sys.stdout.write(HELP)
        return 0
    least = percentage("mutate", parsed)
    out = parsed.values.get("--out", _OUT)
    if parsed.rest[:1] == ["merge"]:
        from autochron.mutate.merging import merged, read_study  # lazy: few put shards together

        if len(parsed.rest) < 2:
            raise UsageError("autochron mutate merge wants the folders of the shards after it")
        study = merged([(folder, read_study(folder)) for folder in parsed.rest[1:]])
    else:
        found = _made(parsed, out)
        if found is None:
            return 130
        study = found
    return _told(study, parsed, out, least)


def _made(parsed: Parsed, out: str) -> Study | None:
    options = StudyOptions(
        operators=parsed.values.get("--operators", "extended"),
        jobs=_number(parsed, "--jobs", os.cpu_count() or 1, 1, 1024),
        shard=_shard(parsed),
        out=out,
        tools=tuple(parsed.lists.get("--tool", ())),
        timeout=seconds("mutate", parsed),
        memory=_number(parsed, "--memory", 1024, 16, 1 << 20) << 20,
        inputs=_number(parsed, "--inputs", 96, 1, 10_000),
        drawn=_number(parsed, "--hypothesis", 0, 1, 10_000),
        sample=_share(parsed),
        everything="--include-signature" in parsed.flags,
        arguments=read_arguments(parsed.values["--explanations"])
        if "--explanations" in parsed.values
        else Arguments(),
        executor=_executor(parsed),
        scheduler=parsed.values.get("--scheduler"),
    )
    with _Bar(quiet="--quiet" in parsed.flags) as bar:
        try:
            return study_of(folders_of(parsed.rest), options, bar.tell)
        except KeyboardInterrupt:
            bar.end()
            sys.stderr.write(
                f"autochron: stopped after {bar.tried} trials; they are kept in {out}, and the same command goes on from"
                " there\n"
            )
            return None


def _told(study: Study, parsed: Parsed, out: str, least: float | None) -> int:
    paths = write_all(study, out)
    if "--write-tests" in parsed.values:
        paths += write_tests(study, parsed.values["--write-tests"])
    if "--json" in parsed.flags:
        with open(paths[0], encoding="utf-8") as file:
            sys.stdout.write(file.read())
    else:
        write_study(
            study, sys.stdout, quiet="--quiet" in parsed.flags, survivors="--survivors" in parsed.flags
        )
        if "--quiet" not in parsed.flags:
            names = ", ".join(os.path.basename(path) for path in paths)
            sys.stdout.write(f"\nin {out}: {names}\n")
    results = tallies.all_results(study)
    escapes = any(tallies.is_escape(each) for each in results)
    found = tallies.tally(results, tallies.CUT_POINT)
    if least is not None and found.tried and 100 * found.killed / found.tried < least:
        sys.stderr.write(
            f"autochron: the cut-point test kills {found.killed} of {found.tried}, less than {least:g} % (--fail-under)\n"
        )
        return 1
    wrong = [
        each.mutant for incident in study.incidents for each in incident.agreement if each.ours != each.theirs
    ]
    if wrong:
        sys.stderr.write(
            f"autochron: plain cosmic-ray disagrees on {', '.join(wrong)}, so these results are in doubt; see what differs"
            " between a run of pytest and a trial (what is left in files, what takes long), and report it\n"
        )
    return int(escapes or bool(wrong))


# --- options --------------------------------------------------------------------------------------------------------


def _number(parsed: Parsed, name: str, usual: int, least: int, most: int) -> int:
    given = parsed.values.get(name)
    if given is None:
        return usual
    if not given.isdecimal() or not least <= int(given) <= most:
        raise UsageError(f"autochron mutate: {name} takes a number from {least} to {most}, not {given}")
    return int(given)


def _shard(parsed: Parsed) -> tuple[int, int]:
    given = parsed.values.get("--shard", "1/1")
    which, slash, count = given.partition("/")
    if not slash or not which.isdecimal() or not count.isdecimal() or not 1 <= int(which) <= int(count):
        raise UsageError(f"autochron mutate: --shard takes K/N with K from 1 to N, such as 1/4, not {given}")
    return int(which), int(count)


def _share(parsed: Parsed) -> float:
    given = parsed.values.get("--crosscheck", "2")
    try:
        percent = float(given)
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise UsageError(f"autochron mutate: --crosscheck takes a percentage from 0 to 100, not {given}")
    return percent / 100


def _executor(parsed: Parsed) -> str:
    given = parsed.values.get("--executor", "local")
    if given not in {"local", "dask"}:
        raise UsageError(f"autochron mutate: --executor takes local or dask, not {given}")
    if "--scheduler" in parsed.values and given != "dask":
        raise UsageError(
            "autochron mutate: --scheduler names that of a Dask cluster; say --executor dask, too"
        )
    return given


# --- progress -------------------------------------------------------------------------------------------------------

_WORDS = {
    "cut": "cut-point",
    "stub": "full-stub",
    "mocks": "mocks",
    "widen": "other inputs",
    "sample": "plain cosmic-ray",
}


class _Bar:
    """How far it is, on a terminal: a line for each incident that is tried now, with rate and time left."""

    def __init__(self, *, quiet: bool) -> None:
        self.tried = 0
        self._bars: dict[str, Any] = {}
        self._progress: Any = None
        if not quiet and is_terminal(sys.stderr):
            from rich.console import Console  # lazy: only for people
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.fields[name]:14}"),
                TextColumn("{task.description:16}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
            )
            self._progress = Progress(*columns, console=Console(file=sys.stderr), transient=True)

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Take it away."""
        if self._progress is not None:
            self._progress.stop()

    def tell(self, incident: str, what: str, done: int, total: int) -> None:
        """Draw it; from any thread."""
        self.tried += 1
        if self._progress is None:
            return
        if incident not in self._bars:
            bar = self._progress.add_task("", total=total, name=incident, rate="")
            self._bars[incident] = (bar, time.monotonic(), done)
        bar, began, first = self._bars[incident]
        took = time.monotonic() - began
        rate = f"{(done - first) / took:.1f}/s" if took > 1 else ""
        self._progress.update(bar, completed=done, total=total, description=_WORDS.get(what, what), rate=rate)
        if done >= total:
            self._progress.update(bar, visible=False)
