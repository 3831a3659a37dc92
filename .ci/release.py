"""Build the sdist and the wheel, check them, and try them in empty environments: `make release`. Nothing is uploaded.

It needs every supported Python. `--without VERSION` leaves one out, and the result says so. In each of them, and by each of
pip, pipx and uv, the wheel is installed into an empty environment, and the tour of `release_tour.py` runs there. The sdist is
installed once, by uv. tests/results/release-VERSION.json has what came of it, the date, the commit and the digests.

`--smoke` is for the build: it takes the Python that runs it and uv alone, works on a tree with changes, and writes no
result. The exit status is 0 if everything passed, 1 if something failed, and 2 if it could not begin.
"""

import argparse
import datetime as dt
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from release_tour import TourError, run, tour

ROOT = Path(__file__).resolve().parent.parent
SUPPORTED = ("3.11", "3.12", "3.13", "3.14", "3.15")
TOOLS = ("build", "hatchling", "twine", "check-wheel-contents", "pipx", "uv")
AGENT = ("openai", "pytest")
"""What the agent of the tour needs, and what runs its test."""
BIN = Path(sys.executable).parent


class RefusedError(Exception):
    """The release can't begin."""


def main() -> int:
    """Make the release, and return the exit status."""
    options = parse()
    try:
        if not options.smoke:
            refuse_changes()
        pythons = {current(): sys.executable} if options.smoke else supported(options.without)
    except RefusedError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    begun = time.monotonic()
    commit = head()
    sdist, wheel = build(options.out.resolve())
    tried = [try_out(*each) for each in plan(sdist, wheel, pythons, smoke=options.smoke)]
    failed = [each for each in tried if each["outcome"] != "passed"]
    if not options.smoke:
        facts = {"commit": commit, "seconds": round(time.monotonic() - begun), "left out": options.without}
        write_result((sdist, wheel), facts, tried)
    for each in failed:
        print(f"FAILED: {each['by']} on Python {each['python']}: {each['outcome']}", file=sys.stderr)
    for left_out in options.without:
        print(f"NOT TRIED: Python {left_out}, as --without says", file=sys.stderr)
    print(
        f"{len(tried) - len(failed)} of {len(tried)} installations passed; {wheel.name} and {sdist.name} are in {options.out}"
    )
    return 1 if failed else 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="make release", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--without", action="append", default=[], choices=SUPPORTED, help="leave this Python out"
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "dist", help="where the sdist and the wheel go; default dist"
    )
    parser.add_argument("--smoke", action="store_true", help="this Python and uv alone, and no result")
    return parser.parse_args()


def current() -> str:
    """Return the version of the Python that runs this, as `3.11`."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def refuse_changes() -> None:
    """Refuse a tree that is no commit: what is built must be what git has.

    Raises:
        RefusedError: there are changes or unknown files, or this is no checkout.
    """
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if status.returncode:
        raise RefusedError(f"a release is made of a git checkout, and git says: {status.stderr.strip()}")
    if status.stdout:
        raise RefusedError(f"the tree has changes; commit or remove them first:\n{status.stdout.rstrip()}")


def supported(without: list[str]) -> dict[str, str]:
    """Find the interpreter of each supported Python, except those left out.

    Raises:
        RefusedError: one is missing.
    """
    wanted = [version for version in SUPPORTED if version not in without]
    found = {version: interpreter(version) for version in wanted}
    missing = [version for version, path in found.items() if not path]
    if missing:
        listed = ", ".join(missing)
        leave_out = " ".join(f"--without {version}" for version in missing)
        raise RefusedError(
            f"MISSING: Python {listed}. A release is tried on {', '.join(SUPPORTED)}. "
            f"Put the interpreter on PATH, into pyenv, or get it with `make pythons`; or leave it out by decision: "
            f"make release RELEASE_ARGS='{leave_out}'"
        )
    return found


def interpreter(version: str) -> str:
    """Return the path of a Python of that version, or an empty string: from PATH, pyenv or `.ci/pythons`."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "autochron/pythons"
    own = cache / version / f"usr/bin/python{version}"
    names = [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python"))), str(own)]
    found = subprocess.run(
        ["sh", ".ci/python", *names], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip()


def build(out: Path) -> tuple[Path, Path]:
    """Build the sdist, and from it the wheel; check both; return their paths."""
    shutil.rmtree(out, ignore_errors=True)
    run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT],
        says="builds sdist and wheel",
    )
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    run([BIN / "twine", "check", "--strict", sdist, wheel], says="twine check --strict")
    run([BIN / "check-wheel-contents", wheel], says="check-wheel-contents")
    expected = re.search(
        r'^__version__ = "(.+)"$', (ROOT / "autochron/__init__.py").read_text("utf-8"), re.MULTILINE
    )
    assert expected, "autochron/__init__.py has no __version__"
    assert wheel.name == f"autochron-{expected[1]}-py3-none-any.whl", wheel.name
    assert sdist.name == f"autochron-{expected[1]}.tar.gz", sdist.name
    return sdist, wheel


Installer = Callable[[str, Path, Path], Path]
"""Installs a distribution for an interpreter into an empty folder, and returns the `bin` folder of what it made."""
Trial = tuple[str, str, str, Installer, Path]


def plan(sdist: Path, wheel: Path, pythons: dict[str, str], *, smoke: bool) -> Iterable[Trial]:
    """Yield what is to be tried: the version and path of a Python, a word for it, how to install, and what."""
    installers = {"uv": by_uv} if smoke else {"pip": by_pip, "pipx": by_pipx, "uv tool": by_uv_tool}
    for version_, python in pythons.items():
        for name, installer in installers.items():
            yield version_, python, name, installer, wheel
    if not smoke:
        first = next(iter(pythons))
        yield first, pythons[first], "uv, from the sdist", by_uv, sdist


def try_out(version_: str, python: str, by: str, installer: Installer, distribution: Path) -> dict[str, Any]:
    """Install a distribution, run the tour with it, and return what came of it."""
    print(f"== Python {version_}, by {by}: ", end="", flush=True)
    started = time.monotonic()
    result: dict[str, Any] = {"python": version_, "by": by, "outcome": "passed"}
    with tempfile.TemporaryDirectory(prefix="autochron-release-") as folder:
        try:
            bin_folder = installer(python, distribution, Path(folder, "environment"))
            result["installed in"] = round(time.monotonic() - started, 1)
            result |= tour(bin_folder, Path(folder, "tour"), ROOT / "incidents" / "refund")
        except TourError as fault:
            print(fault, file=sys.stderr)
            result["outcome"] = str(fault).splitlines()[0]
    print(f"{result['outcome']}, {time.monotonic() - started:.0f} s", flush=True)
    return result


def by_pip(python: str, distribution: Path, folder: Path) -> Path:
    """Install into a venv, with the pip that comes with the Python."""
    run([python, "-m", "venv", folder], says="venv")
    # Most modules of the SDK are never imported, so they are compiled when they are.
    options = ["--quiet", "--disable-pip-version-check", "--prefer-binary", "--no-compile"]
    run(
        [folder / "bin/python", "-m", "pip", "install", *options, f"{distribution}[provider]", *AGENT],
        says="pip install",
    )
    return folder / "bin"


def by_pipx(python: str, distribution: Path, folder: Path) -> Path:
    """Install as an application, and inject what the agent needs."""
    places = {
        "PIPX_HOME": str(folder),
        "PIPX_BIN_DIR": str(folder / "bin"),
        "PIPX_MAN_DIR": str(folder / "man"),
    }
    run(
        [BIN / "pipx", "install", "--quiet", "--python", python, f"{distribution}[provider]"],
        says="pipx install",
        variables=places,
    )
    run(
        [BIN / "pipx", "inject", "--quiet", "autochron", *AGENT],
        says="pipx inject",
        variables=places,
    )
    run([folder / "bin/autochron", "--version"], says="the application of pipx")
    return folder / "venvs/autochron/bin"


def by_uv(python: str, distribution: Path, folder: Path) -> Path:
    """Install into a venv of uv's, which has no pip."""
    run([BIN / "uv", "venv", "--quiet", "--python", python, folder], says="uv venv")
    command = [BIN / "uv", "pip", "install", "--quiet", "--python", folder / "bin/python"]
    run([*command, f"autochron[provider] @ {distribution.as_uri()}", *AGENT], says="uv pip install")
    return folder / "bin"


def by_uv_tool(python: str, distribution: Path, folder: Path) -> Path:
    """Install as a tool, with what the agent needs."""
    places = {"UV_TOOL_DIR": str(folder), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    extra = [word for name in AGENT for word in ("--with", name)]
    command = [BIN / "uv", "tool", "install", "--quiet", "--python", python, *extra]
    run(
        [*command, f"autochron[provider] @ {distribution.as_uri()}"], says="uv tool install", variables=places
    )
    run([folder / "bin/autochron", "--version"], says="the tool of uv")
    return folder / "autochron/bin"


def head() -> str:
    """Return the commit that is released."""
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def write_result(files: tuple[Path, Path], facts: dict[str, Any], tried: list[dict[str, Any]]) -> None:
    """Write what came of it, with the date, to tests/results."""
    name = files[1].name.split("-")[1]
    result = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        **facts,
        "system": f"{platform.system()} {platform.machine()}",
        "tools": {tool: version(tool) for tool in TOOLS},
        "files": {
            file.name: {"bytes": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
            for file in files
        },
        "checks": ["twine check --strict", "check-wheel-contents"],
        "tried": tried,
    }
    file = ROOT / "tests" / "results" / f"release-{name}.json"
    file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"results: {file.relative_to(ROOT)}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TourError as stop:
        print(stop, file=sys.stderr)
        sys.exit(1)
