"""Environments in which frameworks run: a venv for each in the user's cache, or the venv of the tests."""

from __future__ import annotations

import glob
import importlib.metadata
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests import venvs
from tests.frameworks.table import Framework

HERE_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


@dataclass(frozen=True)
class Environment:
    """An environment in which a framework is installed, beside autochron.

    Attributes:
        python: the interpreter.
        version: its version, such as `3.12`.
        woven: the folder for code that is woven.
    """

    python: Path
    version: str
    woven: Path


def cache_folder() -> Path:
    """Return the folder of the environments."""
    return venvs.cache("autochron-frameworks", "AUTOCHRON_FRAMEWORKS")


def environment_of(framework: Framework, python: str) -> Environment:
    """Return a framework's up-to-date environment on a version of Python.

    Raises:
        EnvironmentFault: something could not be downloaded or installed.
    """
    base = interpreter(python)
    if not base:
        raise venvs.EnvironmentFault(f"there is no Python {python}")
    folder = cache_folder() / python / f"{framework.name}-{framework.version}"
    folder.mkdir(parents=True, exist_ok=True)
    with venvs.locked(folder):
        wheel = venvs.autochron_wheel(cache_folder())
        venvs.bring_up_to_date(
            folder,
            {"python": base, "needs": list(framework.requirements)},
            wheel,
            lambda made: venvs.pip(made, "install", "--prefer-binary", *framework.requirements, wheel),
            base=base,
        )
    return Environment(venvs.python_in(folder), python, folder / "woven")


def own_environment() -> Environment:
    """Return the environment that the tests run in."""
    return Environment(Path(sys.executable), HERE_PYTHON, Path(os.environ["AUTOCHRON_CACHE"]))


def is_here(framework: Framework) -> bool:
    """Return whether a framework is installed, in its version, where the tests run."""
    try:
        return importlib.metadata.version(framework.name) == framework.version
    except importlib.metadata.PackageNotFoundError:
        return False


@cache
def interpreter(python: str) -> str:
    """Return an interpreter of a version, from PATH or pyenv; an empty text if there is none."""
    pyenv = os.environ.get("PYENV_ROOT") or os.path.join(os.path.expanduser("~"), ".pyenv")
    names = [f"python{python}", *glob.glob(os.path.join(pyenv, "versions", f"{python}.*", "bin", "python"))]
    command = ["sh", ".ci/python", *names]
    found = subprocess.run(command, cwd=venvs.ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip()
