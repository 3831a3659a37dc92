"""Write the locks requirements.txt, requirements-packs.txt and requirements-docs.txt, which hold for every supported Python.

Without an option it writes all three; `--packs` or `--docs` writes that one alone.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import tomli

ROOT = Path(__file__).resolve().parent.parent
SUPPORTED = ("3.11", "3.12", "3.13", "3.14", "3.15")
WITH_PACKS_ON = ("3.11", "3.12", "3.13")
"""The versions that the packs are tested on: not all of their libraries have wheels for the newer ones."""
HEADER = """\
# What tests, checks, demo and benchmarks run with.
# Made by `make lock` from pyproject.toml; not edited by hand.
"""


PACKS_HEADER = """\
# What the packs are tested with, beside requirements.txt; installed without looking for further requirements.
# Made by `make lock` from pyproject.toml; not edited by hand.
"""
DOCS_HEADER = """\
# What the documentation is built with, in a venv of its own: `make docs`.
# Made by `make lock` from pyproject.toml; not edited by hand.
"""
RELEASE_HEADER = """\
# What a release is made and checked with, in a venv of its own: `make release`.
# Made by `make lock` from pyproject.toml; not edited by hand.
"""
DOCUMENT = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = DOCUMENT["dependency-groups"]


WITH_PACKS = ("xai",)
"""Extras that bring a library of which there is a pack: the lock of the packs has them."""


def wanted() -> list[str]:
    """Collect the requirements of the project, its extras and its development."""
    project = DOCUMENT["project"]
    extras = [table for name, table in project["optional-dependencies"].items() if name not in WITH_PACKS]
    tables = [project["dependencies"], *extras, GROUPS["dev"]]
    return [requirement for table in tables for requirement in table]


def interpreter(version: str) -> str:
    """Find a Python of that version, on PATH or among pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "autochron/pythons"
    own = cache / version / f"usr/bin/python{version}"  # see `.ci/pythons`
    names = [f"python{version}", *map(str, pyenv.glob(f"{version}.*/bin/python")), str(own)]
    found = subprocess.run(
        ["sh", ".ci/python", *names], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    if not found:
        sys.exit(f"no Python {version} here: a lock needs all of {', '.join(SUPPORTED)}")
    return found


def resolve(python: str, requirements: Path, constraints: Path | None) -> dict[str, str]:
    """Ask that Python's own pip, in an empty venv, which version of each package it would install."""
    options = ["--dry-run", "--ignore-installed", "-qq", "--prefer-binary", "--report", "-"]
    options += [] if constraints is None else ["-c", str(constraints)]
    with tempfile.TemporaryDirectory() as venv:
        subprocess.run([python, "-m", "venv", venv], check=True)
        command = [f"{venv}/bin/python", "-m", "pip", "install", *options, "-r", str(requirements)]
        report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    packages = (item["metadata"] for item in report["install"])
    return {package["name"].lower().replace("_", "-"): package["version"] for package in packages}


def lock(
    requirements: list[str],
    known: frozenset[str] = frozenset(),
    versions: tuple[str, ...] = SUPPORTED,
    constraints: Path | None = None,
) -> list[str]:
    """Resolve on each of these Pythons and join what they say, with a marker where they differ; without what is known."""
    pins: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "requirements.in")
        file.write_text("\n".join(requirements), encoding="utf-8")
        for python_version in versions:
            for pin in resolve(interpreter(python_version), file, constraints).items():
                pins[pin].append(python_version)
    lines = []
    for (name, version), pythons in sorted(pins.items()):
        marker = " or ".join(f'python_version == "{python}"' for python in pythons)
        line = f"{name}=={version}" + ("" if len(pythons) == len(versions) else f" ; {marker}")
        if line not in known:
            lines.append(line)
    return lines


def write(name: str, header: str, lines: list[str]) -> None:
    """Write one lock."""
    (ROOT / name).write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{name}: {len(lines)} packages")


def write_packs(first: Path) -> None:
    """Write the lock of the packs, which adds to the first lock and takes that as it is."""
    pinned = [line for line in first.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    packs = lock([*pinned, *GROUPS["packs"]], frozenset(pinned), WITH_PACKS_ON)
    write("requirements-packs.txt", PACKS_HEADER, sorted([*packs, *GROUPS["packs-apart"]]))


def write_docs(first: Path) -> None:
    """Write the lock of the documentation: what the project needs, as the first lock pins it, and what builds the site."""
    requirements = [*DOCUMENT["project"]["dependencies"], *GROUPS["docs"]]
    write("requirements-docs.txt", DOCS_HEADER, lock(requirements, constraints=first))


def write_release() -> None:
    """Write the lock of the tools of a release."""
    write("requirements-release.txt", RELEASE_HEADER, lock(GROUPS["release"]))


def main() -> None:
    """Write the locks that the options name; without any, all of them."""
    named = sys.argv[1:]
    first = ROOT / "requirements.txt"
    if not named:
        write(first.name, HEADER, lock(wanted()))
    if not named or "--packs" in named:
        write_packs(first)
    if not named or "--docs" in named:
        write_docs(first)
    if not named or "--release" in named:
        write_release()


if __name__ == "__main__":
    main()
