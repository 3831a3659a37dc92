"""Venvs with libraries that tests run, kept in the user's cache and made anew when what they are made of changes.

autochron is installed into them from a wheel of this checkout, as a user would install it, and reinstalled after each change.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGED = ("autochron", "rules", "mutation/operators.toml", "pyproject.toml", "README.md")
"""The files and folders that a wheel is built from."""
LIMIT = 1200
"""Seconds that pip may take."""


class EnvironmentFault(RuntimeError):
    """An environment could not be created."""


def cache(name: str, variable: str) -> Path:
    """Return a folder of the user's cache; an environment variable may name another one."""
    chosen = os.environ.get(variable)
    if chosen:
        return Path(chosen).resolve()
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(user) / name


def python_in(folder: Path) -> Path:
    """Return the interpreter of the venv in a folder."""
    return folder / "venv" / "bin" / "python"


def bring_up_to_date(
    folder: Path,
    made_of: Mapping[str, object],
    wheel: Path,
    fill: Callable[[Path], None],
    *,
    base: str = sys.executable,
    anew: bool = False,
) -> bool:
    """Make the venv in a folder unless it is up to date, and return whether something was installed.

    The caller holds the folder's lock.

    Args:
        folder: where the venv and its stamp are.
        made_of: what decides what it holds, as JSON values.
        wheel: the wheel of autochron. If only this is another one, only this is installed.
        fill: installs everything, the wheel included, with the venv's interpreter.
        base: the interpreter to make it with.
        anew: whether to make it anew in any case.

    Raises:
        EnvironmentFault: something could not be downloaded or installed.
    """
    stamp = folder / "stamp.json"
    current = {**made_of, "autochron": dependencies()}
    known = json.loads(stamp.read_text(encoding="utf-8")) if stamp.exists() else {}
    python = python_in(folder)
    if anew or {name: known.get(name) for name in current} != current:
        stamp.unlink(missing_ok=True)
        run([base, "-m", "venv", "--clear", str(folder / "venv")], "no venv could be made")
        fill(python)
    elif known.get("wheel") != wheel.parent.name:
        pip(python, "install", "--no-deps", "--force-reinstall", wheel)
    else:
        return False
    stamp.write_text(json.dumps(current | {"wheel": wheel.parent.name}), encoding="utf-8")
    return True


def dependencies() -> list[str]:
    """Return what autochron itself needs: with the same, another wheel of it needs nothing else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return sorted(project["dependencies"])


def autochron_wheel(place: Path) -> Path:
    """Return the wheel of this checkout; build it below a folder if there is none yet."""
    digest = hashlib.sha256()
    for name in PACKAGED:
        top = ROOT / name
        for file in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    folder = place / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    wheel_folder = folder / digest.hexdigest()[:16]
    with locked(folder):
        if not wheel_folder.exists():
            with tempfile.TemporaryDirectory(dir=folder) as temporary:
                options = ["--wheel", "--no-isolation", "--outdir", f"{temporary}/new", str(ROOT)]
                run([sys.executable, "-m", "build", *options], "a wheel of this checkout could not be built")
                os.rename(f"{temporary}/new", wheel_folder)
    (wheel,) = wheel_folder.glob("*.whl")
    return wheel


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from using a folder during a block."""
    with open(folder / "lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def pip(python: Path, command: str, *words: str | Path) -> None:
    """Run pip, as it is configured here.

    Raises:
        EnvironmentFault: it failed.
    """
    options = ["--quiet", "--disable-pip-version-check", "--no-input"]
    run([str(python), "-m", "pip", command, *options, *map(str, words)], f"pip {command} failed")


def run(command: list[str], fault: str) -> None:
    """Run a command.

    Raises:
        EnvironmentFault: it failed; the error begins with `fault`.
    """
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise EnvironmentFault(f"{fault}: {done.stderr[-2000:]}")
