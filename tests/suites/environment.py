"""Get a library's sdist, and make an environment in which its tests run: the library, what they need, and autochron.

Environments are kept in the user's cache, a folder for each Python and suite, and made anew when the suite's table changes.
Of autochron a wheel of this checkout is installed, as a user would install it, again after each change of it.
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
"""What a wheel is made of."""
REPORTER = "autochron_suite_reporter"
LIMIT = 600
"""Seconds that pip may take."""


class EnvironmentFault(RuntimeError):
    """An environment could not be made."""


@dataclass(frozen=True)
class Environment:
    """Where a suite runs.

    Attributes:
        python: the interpreter.
        source: the unpacked sdist, or a copy of the checkout; the library is imported from it.
        folder: the suite's folder in the cache.
        path: further folders that are imported from.
        is_new: whether it, or autochron in it, was installed just now.
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
    """Yield a suite's environment, up to date, and keep other processes from it meanwhile.

    The tests are those of a checkout of the library where one is given, else those of the pinned sdist.

    Raises:
        EnvironmentFault: something could not be downloaded or installed.
    """
    folder = cache() / (f"{suite.name}-{suite.version}" if checkout is None else f"{suite.name}-checkout")
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        yield _made(suite, folder, checkout)


def _made(suite: Suite, folder: Path, checkout: Path | None) -> Environment:
    stamp = folder / "stamp.json"
    wheel = autochron_wheel()
    wanted = {
        "python": sys.version,
        "checkout": str(checkout or ""),
        "needs": [suite.version, *suite.needs, "extras", *suite.extras],
        "autochron": (ROOT / "pyproject.toml").read_text(encoding="utf-8"),
    }
    known = json.loads(stamp.read_text(encoding="utf-8")) if stamp.exists() else {}
    is_new = known.get("wheel") != wheel.parent.name or checkout is not None
    environment = Environment(folder / "venv" / "bin" / "python", folder / "source", folder, is_new=is_new)
    if {name: known.get(name) for name in wanted} != wanted or checkout is not None:
        stamp.unlink(missing_ok=True)
        environment = dataclasses.replace(environment, is_new=True)
        venv.create(folder / "venv", clear=True, with_pip=True, symlinks=True)
        _get_source(suite, environment, checkout)
        extras = f"[{','.join(suite.extras)}]" if suite.extras else ""
        # Not a hook of setuptools' own that finds the package: a folder on the path, as most people have.
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
    stamp.write_text(json.dumps(wanted | {"wheel": wheel.parent.name}), encoding="utf-8")
    return environment


def _get_source(suite: Suite, environment: Environment, checkout: Path | None) -> None:
    """Lay the library's source into its folder."""
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
        # Not `:all:`: that would have each build backend built from source as well.
        options = ["--no-deps", "--no-binary", suite.name, "--dest", place]
        _pip(environment.python, "download", *options, f"{suite.name}=={suite.version}")
        (archive,) = Path(place).glob("*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(place, filter="data")
        (inside,) = (each for each in Path(place).iterdir() if each.is_dir())
        inside.rename(environment.source)


def autochron_wheel() -> Path:
    """Return the wheel of this checkout, which is made where there is none yet."""
    digest = hashlib.sha256()
    for name in PACKAGED:
        top = ROOT / name
        for file in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    folder = cache() / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / digest.hexdigest()[:16]
    with _locked(folder):
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=folder) as place:
                options = ["--wheel", "--no-isolation", "--outdir", f"{place}/new", str(ROOT)]
                _run([sys.executable, "-m", "build", *options], "a wheel of this checkout could not be built")
                os.rename(f"{place}/new", kept)
    (wheel,) = kept.glob("*.whl")
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
