"""Try fixes of the incidents by the incidents' tests: right ones must pass, and wrong ones must fail.

    python -m incidents.fixes [NAME ...] [--keep]

`incidents/NAME/fixes` holds them: `wrong_*.py` and `right_*.py` define the tool with a fix, which takes the place of
`guarded.py`. A fix in the agent's own code, `*_agent.py`, takes the place of `agent.py`. Each is tried in a fork. It
prints how many wrong fixes each part of the test is the first to reject: the incident, its twin (a run that must still go
through), or the edges (calls beside the incident's). The baselines are tried as well: other ways of testing, in
`incidents/NAME/baselines`. `--keep` writes the results of all incidents to `mutation/results/fixes.json`.
"""

from __future__ import annotations

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


def try_fix(incident: Incident, fix: Path) -> Trial:
    """Try one fix by the incident's test and by its baselines.

    This process has the folder as its working folder and on its path.
    """
    trial = _forked(incident, fix, "test_incident.py")
    failing = []
    for name, file in BASELINES.items():
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


def try_all(incident: Incident, names: frozenset[str] = frozenset()) -> list[Trial]:
    """Try the fixes of an incident, each in a fork of one process.

    Args:
        incident: the incident.
        names: the names of the fixes; all of them if it is empty.
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
            trials = [try_fix(incident, fix) for fix in chosen]
            with open(writing, "wb") as pipe:
                pipe.write(json.encode(trials))
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(process, 0)
    return json.decode(said, type=list[Trial]) if said else []


def _in_process(incident: Incident) -> list[Trial]:
    """Try the fixes of an incident in a process of its own, so that several can be tried at a time."""
    words = [sys.executable, "-m", "incidents.fixes", "--json", str(incident.folder)]
    done = subprocess.run(words, cwd=INCIDENTS.parent, stdout=subprocess.PIPE, check=False)
    return json.decode(done.stdout, type=list[Trial]) if done.stdout else []


def main(names: list[str]) -> int:
    """Try the fixes of some incidents, or of all; return 1 if the test says of one what is not true."""
    if names[:1] == ["--json"]:
        sys.stdout.buffer.write(json.encode(try_all(load(Path(names[1])))))
        return 0
    keeps = "--keep" in names
    names = [name for name in names if name != "--keep"]
    try:
        if keeps and names:
            raise IncidentError("--keep keeps the results of all incidents: leave the names out")
        chosen = [load(INCIDENTS / name) for name in names] or list(load_all())
    except IncidentError as error:
        sys.stderr.write(f"incidents.fixes: {error}\n")
        return 2
    status = 0
    print(f"{'incident':14}{'wrong':>7}{'fail':>6}{'right':>7}{'pass':>6}   rejected first by")
    kept: list[Trial] = []
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    tried = {each.name: pool.submit(_in_process, each) for each in chosen if not each.missing()}
    for incident in chosen:
        missing = incident.missing()
        if missing:
            print(f"{incident.name:14} needs {', '.join(missing)}")
            status = 2
            continue
        trials = tried[incident.name].result()
        kept += trials
        wrong = [trial for trial in trials if not trial.is_right]
        right = [trial for trial in trials if trial.is_right]
        first = Counter(trial.rejected_by for trial in wrong)
        by = ", ".join(f"{part} {first[part]}" for part in PARTS if first[part])
        failing = sum(trial.is_as_it_should for trial in wrong)
        passing = sum(trial.is_as_it_should for trial in right)
        print(f"{incident.name:14}{len(wrong):7}{failing:6}{len(right):7}{passing:6}   {by}")
        for name in BASELINES:
            rejects = sum(name in trial.baselines for trial in wrong)
            refuses = sum(name in trial.baselines for trial in right)
            print(f"    {name:17}{rejects:6}{len(right) - refuses:13}")
        for trial in trials:
            if not trial.is_as_it_should:
                status = max(status, 1)
                rejection = f"rejected by the {trial.rejected_by}" if trial.rejected_by else "passes"
                print(f"    {trial.fix}: {trial.fault or rejection}")
        if not trials:
            status = 1
    if keeps and not status:
        KEPT.write_bytes(json.format(json.encode(kept), indent=1) + b"\n")
        print(f"kept in {KEPT.relative_to(INCIDENTS.parent)}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
