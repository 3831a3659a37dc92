"""Download a library's sdist, and create an environment for its tests: the library, their dependencies, and autochron.

Environments are kept in the user's cache, one folder per Python and suite, and created anew when the suite's table changes.
autochron is installed from a wheel of this checkout, as a user would install it, and reinstalled after each change.
"""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.suites.table import HERE, PYTHON, Suite

ROOT = HERE.parent.parent
PACKAGED = ("autochron", "rules", "mutation/operators.toml", "pyproject.toml", "README.md")
"""The files and folders that a wheel is built from."""
REPORTER = "autochron_suite_reporter"
LIMIT = 600
"""Seconds that pip may take."""


class EnvironmentFault(RuntimeError):
    """An environment could not be created."""


@dataclass(frozen=True)
class Environment:
    """An environment in which a suite runs.

    Attributes:
        python: the interpreter.
        source: the unpacked sdist, or a copy of the checkout; the library is imported from it.
        folder: the suite's folder in the cache.
        path: further folders for `PYTHONPATH`.
        is_new: whether the environment, or autochron in it, has just been installed.
    """

    python: Path
    source: Path
    folder: Path
    path: tuple[str, ...] = ()
    is_new: bool = False


def cache() -> Path:
    """Return the folder of this Python's environments."""
    base = os.environ.get("AUTOCHRON_SUITES")
    if base:
        return Path(base).resolve() / PYTHON
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(user) / "autochron-suites" / PYTHON


@contextmanager
def environment_of(suite: Suite, checkout: Path | None = None) -> Iterator[Environment]:
    """Yield a suite's up-to-date environment, locked against other processes.

    The tests are those of the checkout if there is one, and else those of the pinned sdist.

    Raises:
        EnvironmentFault: something could not be downloaded or installed.
    """
    folder = cache() / (f"{suite.name}-{suite.version}" if checkout is None else f"{suite.name}-checkout")
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        yield _up_to_date(suite, folder, checkout)


def _up_to_date(suite: Suite, folder: Path, checkout: Path | None) -> Environment:
    stamp = folder / "stamp.json"
    wheel = autochron_wheel()
    current = {
        "python": sys.version,
        "checkout": str(checkout or ""),
        "needs": [suite.version, *suite.needs, "extras", *suite.extras],
        "autochron": (ROOT / "pyproject.toml").read_text(encoding="utf-8"),
    }
    known = json.loads(stamp.read_text(encoding="utf-8")) if stamp.exists() else {}
    is_new = known.get("wheel") != wheel.parent.name or checkout is not None
    environment = Environment(folder / "venv" / "bin" / "python", folder / "source", folder, is_new=is_new)
    if {name: known.get(name) for name in current} != current or checkout is not None:
        stamp.unlink(missing_ok=True)
        environment = dataclasses.replace(environment, is_new=True)
        venv.create(folder / "venv", clear=True, with_pip=True, symlinks=True)
        _get_source(suite, environment, checkout)
        extras = f"[{','.join(suite.extras)}]" if suite.extras else ""
        # An editable install by a path entry, which most users have, and not by an import hook of setuptools.
        options = ["--prefer-binary", "--config-settings", "editable_mode=compat"]
        _pip(
            environment.python,
            "install",
            *options,
            "-e",
            f"{environment.source}{extras}",
            *suite.needs,
            wheel,
        )
    elif is_new:
        _pip(environment.python, "install", "--no-deps", "--force-reinstall", wheel)
    (packages,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    shutil.copyfile(HERE / "reporter.py", packages / f"{REPORTER}.py")
    stamp.write_text(json.dumps(current | {"wheel": wheel.parent.name}), encoding="utf-8")
    return environment


def _get_source(suite: Suite, environment: Environment, checkout: Path | None) -> None:
    """Put the library's source into its folder."""
    shutil.rmtree(environment.source, ignore_errors=True)
    if checkout is not None:
        shutil.copytree(
            checkout,
            environment.source,
            symlinks=True,
            ignore=shutil.ignore_patterns(".venv*", ".tox", ".nox"),
        )
        return
    with tempfile.TemporaryDirectory(dir=environment.folder) as place:
        # Not `:all:`, which would also build each build backend from source.
        options = ["--no-deps", "--no-binary", suite.name, "--dest", place]
        _pip(environment.python, "download", *options, f"{suite.name}=={suite.version}")
        (archive,) = Path(place).glob("*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(place, filter="data")
        (inside,) = (entry for entry in Path(place).iterdir() if entry.is_dir())
        inside.rename(environment.source)


def autochron_wheel() -> Path:
    """Return the wheel of this checkout; build it if there is none yet."""
    digest = hashlib.sha256()
    for name in PACKAGED:
        top = ROOT / name
        for file in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    folder = cache() / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    wheel_folder = folder / digest.hexdigest()[:16]
    with _locked(folder):
        if not wheel_folder.exists():
            with tempfile.TemporaryDirectory(dir=folder) as place:
                options = ["--wheel", "--no-isolation", "--outdir", f"{place}/new", str(ROOT)]
                _run([sys.executable, "-m", "build", *options], "a wheel of this checkout could not be built")
                os.rename(f"{place}/new", wheel_folder)
    (wheel,) = wheel_folder.glob("*.whl")
    return wheel


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with open(folder / "lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _pip(python: Path, command: str, *words: str | Path) -> None:
    """Run pip, as it is configured here."""
    options = ["--quiet", "--disable-pip-version-check", "--no-input"]
    _run([str(python), "-m", "pip", command, *options, *map(str, words)], f"pip {command} failed")


def _run(command: list[str], fault: str) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise EnvironmentFault(f"{fault}: {done.stderr[-2000:]}")
