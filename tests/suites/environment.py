"""Download a library's sdist, and create an environment for its tests: the library, their dependencies, and autochron.

Environments are kept in the user's cache, one folder per Python and suite, and created anew when the suite's table changes.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import venvs
from tests.suites.table import HERE, PYTHON, Suite
from tests.venvs import EnvironmentFault

__all__ = ["REPORTER", "Environment", "EnvironmentFault", "environment_of"]

REPORTER = "autochron_suite_reporter"


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
    return venvs.cache("autochron-suites", "AUTOCHRON_SUITES") / PYTHON


@contextmanager
def environment_of(suite: Suite, checkout: Path | None = None) -> Iterator[Environment]:
    """Yield a suite's up-to-date environment, locked against other processes.

    The tests are those of the checkout if there is one, and else those of the pinned sdist.

    Raises:
        EnvironmentFault: something could not be downloaded or installed.
    """
    folder = cache() / (f"{suite.name}-{suite.version}" if checkout is None else f"{suite.name}-checkout")
    folder.mkdir(parents=True, exist_ok=True)
    with venvs.locked(folder):
        yield _up_to_date(suite, folder, checkout)


def _up_to_date(suite: Suite, folder: Path, checkout: Path | None) -> Environment:
    wheel, source = venvs.autochron_wheel(cache()), folder / "source"

    def fill(python: Path) -> None:
        _get_source(suite, python, folder, checkout)
        extras = f"[{','.join(suite.extras)}]" if suite.extras else ""
        # An editable install by a path entry, which most users have, and not by an import hook of setuptools.
        options = ["--prefer-binary", "--config-settings", "editable_mode=compat"]
        venvs.pip(python, "install", *options, "-e", f"{source}{extras}", *suite.needs, wheel)

    made_of = {
        "python": sys.version,
        "checkout": str(checkout or ""),
        "needs": [suite.version, *suite.needs, "extras", *suite.extras],
    }
    is_new = venvs.bring_up_to_date(folder, made_of, wheel, fill, anew=checkout is not None)
    (packages,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    shutil.copyfile(HERE / "reporter.py", packages / f"{REPORTER}.py")
    return Environment(venvs.python_in(folder), source, folder, is_new=is_new)


def _get_source(suite: Suite, python: Path, folder: Path, checkout: Path | None) -> None:
    """Put the library's source into its folder."""
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    if checkout is not None:
        left_out = shutil.ignore_patterns(".venv*", ".tox", ".nox")
        shutil.copytree(checkout, source, symlinks=True, ignore=left_out)
        return
    with tempfile.TemporaryDirectory(dir=folder) as place:
        # Not `:all:`, which would also build each build backend from source.
        options = ["--no-deps", "--no-binary", suite.name, "--dest", place]
        venvs.pip(python, "download", *options, f"{suite.name}=={suite.version}")
        (archive,) = Path(place).glob("*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(place, filter="data")
        (inside,) = (entry for entry in Path(place).iterdir() if entry.is_dir())
        inside.rename(source)
