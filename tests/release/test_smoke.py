"""A smoke of `make release`: build, checks of what is built, one environment, and the tour there."""

import os
import subprocess
import tarfile

import pytest

import autochron
from tests.cli.processes import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_release_is_built_checked_installed_and_tried(tools, tmp_path):
    command = [
        str(tools / "python"),
        ".ci/release.py",
        "--smoke",
        "--out",
        os.path.relpath(tmp_path / "dist", ROOT),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    version = autochron.__version__
    wheel, sdist = f"autochron-{version}-py3-none-any.whl", f"autochron-{version}.tar.gz"
    assert sorted(file.name for file in (tmp_path / "dist").iterdir()) == sorted((wheel, sdist))
    assert f"1 of 1 installations passed; {wheel} and {sdist}" in done.stdout
    with tarfile.open(tmp_path / "dist" / sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"tests/test_release.py", "docs/errors.md", "rules/openai.toml", "LICENSE", "Makefile"} <= names
    assert not [name for name in names if name.startswith((".venv", ".git/", "dist/", "build/"))]
