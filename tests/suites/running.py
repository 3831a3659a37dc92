"""Run a suite in one mode, in a child process."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.suites.comparison import ORDINARY, Run, read_report
from tests.suites.environment import REPORTER, Environment
from tests.suites.rules import rules_of
from tests.suites.table import HERE, Suite

_RECORDED = re.compile(r"^autochron: (?:([\d,]+) of )?([\d,]+) crossings? recorded", re.MULTILINE)
_LOST = re.compile(r"^  lost: .*", re.MULTILINE)
_NOTES = re.compile(r"^autochron: .*\Z", re.MULTILINE | re.DOTALL)


def warm_up(suite: Suite, environment: Environment, modes: Iterable[str]) -> None:
    """Collect the tests of each mode, in it and plain, so that compiling and weaving is not charged to the first run."""
    suite = dataclasses.replace(suite, arguments=(*suite.arguments, "--collect-only"))
    warmed: set[tuple[str, tuple[str, ...]]] = set()
    for mode in modes:
        part = suite.of_mode(mode)
        for way in ("plain", mode):
            if (way, part.tests) not in warmed:
                warmed.add((way, part.tests))
                run(part, environment, way)


def run(suite: Suite, environment: Environment, mode: str) -> Run:
    """Run the tests once; replace the files of the previous run, which are kept beside the environment."""
    place = environment.folder / "runs" / mode
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    command = [str(environment.python)]
    if mode != "plain":
        rules = place / "autochron.toml"
        rules.write_text(rules_of(suite, mode, environment.source), encoding="utf-8")
        command += [
            "-m",
            "autochron",
            "run",
            "--rules",
            str(rules),
            "--store",
            f"sqlite:///{place}/traces.db",
        ]
    # The path is short because tests create sockets in it.
    with (
        tempfile.TemporaryDirectory(prefix="suite-", ignore_cleanup_errors=True) as temporary,
        open(place / "out.txt", "wb") as out,
        open(place / "err.txt", "wb") as err,
    ):
        meter = [sys.executable, str(HERE / "meter.py"), str(place / "meter.json"), str(suite.limit)]
        subprocess.run(
            [*meter, *command, *words(suite)],
            cwd=environment.source,
            env=variables(suite, environment, place, temporary),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            check=True,
        )
    result = _read(place, mode)
    for file in place.glob("traces.db*"):  # they are large, and the notes summarise them
        file.unlink()
    return result


def words(suite: Suite) -> list[str]:
    """Return the arguments that run pytest."""
    left_out = [f"--deselect={test}" for test in suite.deselect]
    return [
        "-m",
        "pytest",
        "-p",
        REPORTER,
        "-p",
        "no:cacheprovider",
        *suite.arguments,
        *left_out,
        *suite.tests,
    ]


def variables(suite: Suite, environment: Environment, place: Path, temporary: str) -> dict[str, str]:
    """Return the environment variables of a run, which differ between modes and machines only in their paths."""
    path = os.pathsep.join([str(environment.python.parent), os.environ.get("PATH", os.defpath)])
    home = os.path.join(temporary, "home")
    os.mkdir(home)
    result = {
        "PATH": path,
        "HOME": home,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "SUITES_REPORT": str(place / "report.jsonl"),
        "AUTOCHRON_CACHE": str(environment.folder / "woven"),
    }
    if environment.path:
        result["PYTHONPATH"] = os.pathsep.join(environment.path)
    return result | suite.environment


def _read(place: Path, mode: str) -> Run:
    meter = json.loads((place / "meter.json").read_text(encoding="utf-8"))
    errors = (place / "err.txt").read_text(encoding="utf-8", errors="replace")
    outcomes, fault = read_report(place / "report.jsonl")
    status = meter["status"]
    if meter["late"]:
        fault = f"it took too long; {fault}"
    elif fault or status not in ORDINARY:
        out = (place / "out.txt").read_text(encoding="utf-8", errors="replace")
        fault = f"{fault or 'its tests ended'}, status {status}\n{out[-2000:]}\n{errors[-2000:]}"
    elif not outcomes:
        fault = "it ran no test"
    result = Run(outcomes, fault, meter["cpu"], meter["rss"])
    return result if mode == "plain" else _with_notes(result, errors, mode)


def _with_notes(run: Run, errors: str, mode: str) -> Run:
    """Return the run with the crossings, notes and faults that `autochron run` reported."""
    recorded, lost, notes = _RECORDED.search(errors), _LOST.search(errors), _NOTES.search(errors)
    crossings = int(recorded[2].replace(",", "")) if recorded else 0
    fault = run.fault
    if not fault and not recorded:
        fault = f"autochron said nothing of what it recorded\n{errors[-2000:]}"
    elif not fault and lost:
        fault = lost[0].strip()
    elif not fault and mode == "woven" and not crossings:
        fault = "nothing was recorded"
    return dataclasses.replace(run, crossings=crossings, fault=fault, notes=notes[0] if notes else "")
