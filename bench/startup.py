"""What `autochron run` adds to an empty program, as whole processes."""

from __future__ import annotations

import os
import resource
import shutil
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from functools import partial

from autochron.crossing.processes import VARIABLE
from bench.measure import Figure, Size, medians, over, turn_about

TARGET = 60.0
LINE_TARGET = 0.1
HEAVY = ("libcst", "wrapt", "_hashlib", "ast", "ctypes", "inspect", "typing_extensions")
"""What an empty program must not have imported."""

_REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = [sys.executable, "-m", "autochron", "run", "--quiet"]
_WATCH = f"import sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))\n"


def run(size: Size) -> Iterable[Figure]:
    """Measure an empty program, and what is imported beside it."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "empty.py")
        with open(program, "w", encoding="utf-8"):
            pass
        heavy = loaded(folder)
        peers = {
            name: path for name in ("ddtrace-run", "opentelemetry-instrument") if (path := _beside(name))
        }
        cases = {
            "plain": lambda: start([sys.executable, program], folder),
            "ours": lambda: start([*_OURS, program], folder),
        }
        for name, path in peers.items():
            cases[name] = lambda path=path: start([path, sys.executable, program], folder)  # type: ignore[misc]
        times = turn_about(cases, size.rounds, clock=_of_children)
        yield Figure(
            benchmark="startup",
            name="autochron run empty.py",
            value=over(times, "ours", "plain") * 1e3,
            unit="ms",
            against="over python empty.py, bytecode written and the store there; processor's time",
            target=TARGET,
            samples=medians(times),
        )
        ordinary = turn_about(cases, max(1, size.rounds // 4), clock=time.perf_counter)
        yield Figure(
            benchmark="startup",
            name="the same by the clock on the wall",
            value=over(ordinary, "ours", "plain") * 1e3,
            unit="ms",
            against="which is also that of whoever else uses the machine",
            samples=medians(ordinary),
        )
        yield Figure(
            benchmark="startup",
            name=f"heavy modules imported{': ' if heavy else ''}{', '.join(heavy)}",
            value=len(heavy),
            unit=f"of {len(HEAVY)}",
            against=" and ".join(HEAVY),
            target=0,
        )
        yield line_in_every_start(size, folder)
        for name in peers:
            yield Figure(
                benchmark="startup",
                name=f"{name} python empty.py",
                value=over(times, name, "plain") * 1e3,
                unit="ms",
                against="over python empty.py",
                samples=medians(times),
            )


def line_in_every_start(size: Size, folder: str) -> Figure:
    """Measure what our `.pth` file adds to the start of an interpreter that no recorded program has started."""
    names = {"ours": "ours.pth", "empty": "empty.pth"}
    shutil.copy(os.path.join(_REPOSITORY, "autochron", "children.pth"), os.path.join(folder, names["ours"]))
    with open(os.path.join(folder, names["empty"]), "w", encoding="utf-8"):
        pass
    told = os.environ.pop(VARIABLE, None)
    try:
        cases = {name: partial(site.addpackage, folder, file, set()) for name, file in names.items()}
        times = turn_about(cases, size.rounds * 10, clock=time.perf_counter)
    finally:
        if told is not None:
            os.environ[VARIABLE] = told
    return Figure(
        benchmark="startup",
        name="the .pth file, in an interpreter that is not recorded",
        value=over(times, "ours", "empty") * 1e3,
        unit="ms",
        against="over an empty .pth file",
        target=LINE_TARGET,
        samples=medians(times),
    )


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def loaded(folder: str) -> list[str]:
    """Name the heavy modules that are imported in an empty program that is recorded."""
    path = os.path.join(folder, "watch.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(_WATCH)
    return start([*_OURS, path], folder).split()


def start(command: Sequence[str], folder: str) -> str:
    """Run a process to its end; what it printed."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONSTARTUP")
    }
    environment["PYTHONPATH"] = _REPOSITORY
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def _beside(name: str) -> str | None:
    path = os.path.join(os.path.dirname(sys.executable), name)
    return path if os.path.exists(path) else shutil.which(name)
