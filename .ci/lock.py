"""Write requirements.txt: one lock that installs alike on every supported Python."""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import tomli

ROOT = Path(__file__).resolve().parent.parent
SUPPORTED = ("3.11", "3.12", "3.13")
HEADER = """\
# What tests, checks, demo and benchmarks run with.
# Made by `make lock` from pyproject.toml; not edited by hand.
"""


def wanted() -> list[str]:
    """Collect the requirements of the project, its extras and its groups."""
    document = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = document["project"]
    tables = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *document["dependency-groups"].values(),
    ]
    return [requirement for table in tables for requirement in table]


def interpreter(version: str) -> str:
    """Find a Python of that version, on PATH or among pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    names = [f"python{version}", *map(str, pyenv.glob(f"{version}.*/bin/python"))]
    found = subprocess.run(
        ["sh", ".ci/python", *names], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    if not found:
        sys.exit(f"no Python {version} here: a lock needs all of {', '.join(SUPPORTED)}")
    return found


def resolve(python: str, requirements: Path) -> dict[str, str]:
    """Ask that Python's pip which version of each package it would install."""
    options = ["--dry-run", "--ignore-installed", "-qq", "--prefer-binary", "--report", "-"]
    command = [python, "-m", "pip", "install", *options, "-r", str(requirements)]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    packages = (item["metadata"] for item in report["install"])
    return {package["name"].lower().replace("_", "-"): package["version"] for package in packages}


def main() -> None:
    """Resolve on each supported Python and join what they say, with a marker where they differ."""
    pins: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder, "requirements.in")
        requirements.write_text("\n".join(wanted()), encoding="utf-8")
        for python_version in SUPPORTED:
            for pin in resolve(interpreter(python_version), requirements).items():
                pins[pin].append(python_version)
    lines = []
    for (name, version), pythons in sorted(pins.items()):
        marker = " or ".join(f'python_version == "{python}"' for python in pythons)
        lines.append(f"{name}=={version}" + ("" if len(pythons) == len(SUPPORTED) else f" ; {marker}"))
    (ROOT / "requirements.txt").write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"requirements.txt: {len(lines)} packages")


if __name__ == "__main__":
    main()
