"""Try fixes of the incidents by the incidents' tests: right ones must pass, and wrong ones must fail.

    python -m incidents.fixes [NAME ...] [--keep] [--times N] [--jobs N] [--no-baselines]

`incidents/NAME/fixes` holds them: `wrong_*.py` and `right_*.py` define the tool with a fix, which takes the place of
`guarded.py`. A fix in the agent's own code, `*_agent.py`, takes the place of `agent.py`. Each is tried in a fork. It
prints how many wrong fixes each part of the test is the first to reject: the incident, its twin (a run that must still go
through), or the edges (calls beside the incident's). The baselines are tried as well: other ways of testing, in
`incidents/NAME/baselines`. `--keep` writes the results of all incidents to `mutation/results/fixes.json`. `--times` tries
each fix so often, and `--jobs` says how many processes try fixes at a time: with 30 of them on two cores, each test runs
under a load of 30.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec import Struct, json, structs

import autochron
from incidents.suite import INCIDENTS, Incident, IncidentError, load, load_all

PARTS = ("incident", "twin", "edges")
"""The parts of an incident's test, in its order."""

BASELINES = {
    "model": "baselines/test_model.py",
    "vcr": "baselines/test_vcr.py",
    "tool": "baselines/test_tool.py",
}
"""Other ways of testing, by name: the model mocked by hand, HTTP cassettes of VCR.py, and unit tests of the tool alone."""

KEPT = INCIDENTS.parent / "mutation" / "results" / "fixes.json"
"""Where the results of all incidents are kept."""


class Trial(Struct, frozen=True):
    """What the test says of one fix.

    Attributes:
        incident: the name of the incident.
        fix: the file of the fix, without `.py`.
        rejected_by: the first part of the test that fails; empty if none does.
        baselines: the baselines that fail.
        fault: why a test could not be run; empty where all could.
    """

    incident: str
    fix: str
    rejected_by: str = ""
    baselines: tuple[str, ...] = ()
    fault: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the fix should pass."""
        return self.fix.startswith("right_")

    @property
    def is_as_it_should(self) -> bool:
        """Whether the test says of the fix what is true."""
        return not self.fault and bool(self.rejected_by) != self.is_right


class _Outcomes:
    """The plugin that notes which tests fail."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.ran = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the result of a test, or the failure of its set-up."""
        self.ran += report.when == "call"
        if report.failed:
            self.failed.append(report.nodeid.rpartition("::")[2])

    def rejected_by(self, names: list[str]) -> str:
        """Return the part that failed; `names` are those of the incident's test and of its twin's."""
        own = dict(zip(names, PARTS, strict=False))
        return own.get(self.failed[0], PARTS[2]) if self.failed else ""


def fixes_of(incident: Incident) -> list[Path]:
    """Return the files of the fixes of an incident."""
    return sorted((incident.folder / "fixes").glob("*.py"))


def try_fix(incident: Incident, fix: Path, *, by_baselines: bool = True) -> Trial:
    """Try one fix by the incident's test and, with `by_baselines`, by its baselines.

    This process has the folder as its working folder and on its path.
    """
    trial = _forked(incident, fix, "test_incident.py")
    failing = []
    for name, file in BASELINES.items() if by_baselines else ():
        if not (incident.folder / file).is_file() or (name == "tool" and fix.stem.endswith("_agent")):
            continue  # a unit test of the tool says nothing of a fix in the agent's code
        tried = _forked(incident, fix, file)
        if tried.fault:
            return tried
        if tried.rejected_by:
            failing.append(name)
    return structs.replace(trial, baselines=tuple(failing))


def _forked(incident: Incident, fix: Path, test: str) -> Trial:
    """Try one fix by a file of tests, in a fork of this process."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                try:
                    trial = _tried(incident, fix, test)
                except BaseException as error:
                    trial = Trial(incident.name, fix.stem, fault=f"{type(error).__name__}: {error}")
            with open(writing, "wb") as pipe:
                pipe.write(json.encode(trial))
        finally:
            os._exit(0)  # nothing of the parent's is to be ended here
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(process, 0)
    return json.decode(said, type=Trial) if said else Trial(incident.name, fix.stem, fault="the process died")


def _tried(incident: Incident, fix: Path, test: str) -> Trial:
    name = "agent" if fix.stem.endswith("_agent") else "guarded"
    spec = importlib.util.spec_from_file_location(name, fix)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if name == "agent":  # the tool is as it was
        unguarded = ModuleType("guarded")
        setattr(unguarded, incident.function, getattr(importlib.import_module("tools"), incident.function))
        sys.modules["guarded"] = unguarded
    swap = {} if name == "agent" else {incident.tool: getattr(module, incident.function)}

    class Swapped:
        """The plugin that puts the fix in the place of `guarded.py`."""

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            """Change the marker of each test."""
            for item in items:
                marker = item.get_closest_marker("autochron")
                if marker is None:
                    continue
                marked: Any = pytest.mark.autochron
                item.add_marker(marked(*marker.args, **(dict(marker.kwargs) | {"swap": swap})), append=False)

    outcomes = _Outcomes()
    words = [
        "-qx",
        "-p",
        "autochron.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--rootdir",
        str(incident.folder),
        test,
    ]
    if name == "agent":  # its tool is as it was, so that the edges say nothing of the agent's code
        words += ["-k", "not gets_past"]
    status = pytest.main(words, plugins=[Swapped(), outcomes])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not outcomes.ran:
        return Trial(incident.name, fix.stem, fault=f"pytest ended with status {int(status)}")
    if test != "test_incident.py":
        return Trial(incident.name, fix.stem, rejected_by="baseline" if outcomes.failed else "")
    module = sys.modules["test_incident"]
    names = [each for each in vars(module) if each.startswith("test_")]
    return Trial(incident.name, fix.stem, outcomes.rejected_by(names[:2]))


def _import_for_all() -> None:
    """Import and weave in this process what each fork would."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(Exception),
        autochron.replay("trace.jsonl", check=False),
    ):
        importlib.import_module("agent")  # it does not run: a fork would not have the threads that it leaves
    for name in ("agent", "tools", "guarded"):
        sys.modules.pop(name, None)
    with contextlib.suppress(ImportError):
        importlib.import_module("vcr.cassette")  # it imports every HTTP client that there is
        importlib.import_module("yaml")


def try_all(
    incident: Incident, names: frozenset[str] = frozenset(), *, times: int = 1, by_baselines: bool = True
) -> list[Trial]:
    """Try the fixes of an incident, each in a fork of one process.

    Args:
        incident: the incident.
        names: the names of the fixes; all of them if it is empty.
        times: how often each is tried.
        by_baselines: whether the baselines try them, too.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            os.chdir(incident.folder)
            sys.path.insert(0, str(incident.folder))
            _import_for_all()
            chosen = [fix for fix in fixes_of(incident) if not names or fix.stem in names]
            trials = [
                try_fix(incident, fix, by_baselines=by_baselines) for _ in range(times) for fix in chosen
            ]
            with open(writing, "wb") as pipe:
                pipe.write(json.encode(trials))
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(process, 0)
    return json.decode(said, type=list[Trial]) if said else []


def _in_process(incident: Incident, times: int, *, by_baselines: bool) -> list[Trial]:
    """Try the fixes of an incident in a process of its own, so that several can be tried at a time."""
    words = [sys.executable, "-m", "incidents.fixes", "--json", str(incident.folder), "--times", str(times)]
    words += [] if by_baselines else ["--no-baselines"]
    done = subprocess.run(words, cwd=INCIDENTS.parent, stdout=subprocess.PIPE, check=False)
    return json.decode(done.stdout, type=list[Trial]) if done.stdout else []


def _shares(times: int, processes: int) -> list[int]:
    """Share repetitions among processes: return how many each makes."""
    processes = max(1, min(times, processes))
    return [times // processes + (number < times % processes) for number in range(processes)]


def _print_incident(incident: Incident, trials: list[Trial], *, by_baselines: bool) -> None:
    """Print a line of the table, lines for the baselines, and one for each fix of which the test says what is not true."""
    names = {trial.fix for trial in trials}
    failing = {trial.fix for trial in trials if not trial.is_as_it_should}
    wrong = {name for name in names if not name.startswith("right_")}
    right = names - wrong
    parts = Counter(
        part for _, part in {(trial.fix, trial.rejected_by) for trial in trials if not trial.is_right}
    )
    by = ", ".join(f"{part} {parts[part]}" for part in PARTS if parts[part])
    print(
        f"{incident.name:14}{len(wrong):7}{len(wrong - failing):6}{len(right):7}{len(right - failing):6}   {by}"
    )
    for name in BASELINES if by_baselines else ():
        rejected = {trial.fix for trial in trials if name in trial.baselines}
        print(f"    {name:17}{len(rejected & wrong):6}{len(right - rejected):13}")
    said = Counter(
        (
            trial.fix,
            trial.fault or (f"rejected by the {trial.rejected_by}" if trial.rejected_by else "passes"),
        )
        for trial in trials
        if not trial.is_as_it_should
    )
    for (fix, what), count in said.items():
        print(f"    {fix}: {what}" + (f", {count} times" if count > 1 else ""))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m incidents.fixes", description="Try fixes of the incidents."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="an incident; all of them if there is none")
    parser.add_argument(
        "--keep", action="store_true", help="write the results to mutation/results/fixes.json"
    )
    parser.add_argument("--times", type=int, default=1, metavar="N", help="try each fix so often")
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes that try fixes at a time",
    )
    parser.add_argument(
        "--no-baselines", action="store_true", help="try them by the incident's own test alone"
    )
    parser.add_argument("--json", metavar="FOLDER", help=argparse.SUPPRESS)
    return parser


def main(words: list[str]) -> int:
    """Try the fixes of some incidents, or of all; return 1 if the test says of one what is not true."""
    options = _parser().parse_args(words)
    by_baselines = not options.no_baselines
    if options.json:
        trials = try_all(load(Path(options.json)), times=options.times, by_baselines=by_baselines)
        sys.stdout.buffer.write(json.encode(trials))
        return 0
    try:
        if options.keep and (options.names or options.times != 1 or options.no_baselines):
            raise IncidentError("--keep keeps the results of all incidents, by all tests, once")
        chosen = [load(INCIDENTS / name) for name in options.names] or list(load_all())
    except IncidentError as error:
        sys.stderr.write(f"incidents.fixes: {error}\n")
        return 2
    status = 0
    print(f"{'incident':14}{'wrong':>7}{'fail':>6}{'right':>7}{'pass':>6}   rejected first by")
    kept: list[Trial] = []
    pool = ThreadPoolExecutor(options.jobs)
    shares = _shares(options.times, -(-options.jobs // len(chosen)))
    tried = {
        each.name: [pool.submit(_in_process, each, times, by_baselines=by_baselines) for times in shares]
        for each in chosen
        if not each.missing()
    }
    for incident in chosen:
        missing = incident.missing()
        if missing:
            print(f"{incident.name:14} needs {', '.join(missing)}")
            status = 2
            continue
        parts = [share.result() for share in tried[incident.name]]
        trials = [trial for part in parts for trial in part]
        kept += trials
        _print_incident(incident, trials, by_baselines=by_baselines)
        expected = options.times * len(fixes_of(incident))
        if len(trials) != expected:
            print(f"    {len(trials)} of {expected} trials were made")
        if len(trials) != expected or not trials or not all(trial.is_as_it_should for trial in trials):
            status = max(status, 1)
    if options.times > 1:
        print(f"{sum(trial.is_as_it_should for trial in kept)} of {len(kept)} trials are as they should be")
    if options.keep and not status:
        KEPT.write_bytes(json.format(json.encode(kept), indent=1) + b"\n")
        print(f"kept in {KEPT.relative_to(INCIDENTS.parent)}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
