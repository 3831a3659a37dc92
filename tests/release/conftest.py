"""The tools that a release is made and checked with, in a venv of their own."""

import os
import subprocess

import pytest

from tests.cli.processes import ROOT
from tests.venvs import locked


@pytest.fixture(scope="session")
def tools(pytestconfig):
    """Return the `bin` folder of that venv; make the venv first if it is not up to date, which takes a minute."""
    command = ["sh", ".ci/venv", ".venv-release", "requirements-release.txt"]
    cache = pytestconfig.rootpath / ".pytest_cache" / "release"
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache):
        made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    if made.returncode and os.environ.get("CI", "").lower() != "true":
        pytest.skip(f"the tools of a release can't be installed: {made.stderr.strip()[-300:]}")
    assert made.returncode == 0, made.stderr
    return pytestconfig.rootpath / ".venv-release" / "bin"
