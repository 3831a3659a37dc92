"""What has to be true of a checkout that becomes a release, and how a release is refused."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import autochron

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_has_one_place():
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", autochron.__version__)


def test_to_ask_for_the_version_imports_no_metadata():
    """The import of importlib.metadata takes 20 ms, and each recording asks for the version."""
    program = "import sys, autochron; autochron.__version__; print('importlib.metadata' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "False\n"


def test_every_supported_python_is_classified_and_tried():
    versions = [f"3.{minor}" for minor in range(11, 16)]
    classified = [
        line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)
    ]
    assert classified == versions
    source = (ROOT / ".ci" / "release.py").read_text(encoding="utf-8")
    listed = ", ".join(f'"{version}"' for version in versions)
    assert f"SUPPORTED = ({listed})" in source


def test_every_extra_has_a_line_that_says_what_it_is_for():
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    begin = lines.index("[project.optional-dependencies]")
    for extra in PROJECT["optional-dependencies"]:
        (line,) = [number for number in range(begin, len(lines)) if lines[number].startswith(f"{extra} = ")]
        assert lines[line - 1].startswith("#"), extra


def test_the_changelog_begins_with_what_is_unreleased_or_with_this_version():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    version = re.escape(autochron.__version__)
    assert re.fullmatch(rf"\[Unreleased\]|\[{version}\] - \d{{4}}-\d\d-\d\d", headings[0]), headings[0]
    releases = [heading for heading in headings if heading != "[Unreleased]"]
    assert [h for h in releases if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", h)] == []


def release(folder, *options, **variables):
    """Run the script of `make release` in a folder; only what comes before the build."""
    done = subprocess.run(
        [sys.executable, ".ci/release.py", *options], cwd=folder, capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, **variables},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def checkout(tmp_path):
    """Return a small checkout with the scripts of a release, committed."""
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / ".ci", folder / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".gitignore").write_text("__pycache__/\n")
    for words in (("init",), ("add", "--all"), ("commit", "--message", "all")):
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)
    return folder


def test_a_release_of_a_tree_with_changes_is_refused(checkout):
    (checkout / "notes.txt").write_text("to be done")
    with open(checkout / ".ci" / "run", "a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert release(checkout) == (
        2,
        "",
        "the tree has changes; commit or remove them first:\n M .ci/run\n?? notes.txt\n",
    )


def test_a_release_of_what_is_no_checkout_is_refused(checkout):
    shutil.rmtree(checkout / ".git")
    status, out, said = release(checkout, GIT_CEILING_DIRECTORIES=str(checkout.parent))
    assert (status, out) == (2, "")
    assert said.startswith("a release is made of a git checkout, and git says: fatal: not a git repository")


def test_a_release_without_a_python_names_it(checkout, tmp_path):
    """No python3.N is found here, so all that are asked for are missing."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("git", "sh"):
        (commands / name).symlink_to(shutil.which(name))
    nowhere = {"PATH": str(commands), "PYENV_ROOT": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    status, out, said = release(
        checkout, "--without", "3.11", "--without", "3.13", "--without", "3.15", **nowhere
    )
    assert (status, out) == (2, "")
    assert said == (
        "MISSING: Python 3.12, 3.14. A release is tried on 3.11, 3.12, 3.13, 3.14, 3.15. Put the interpreter on PATH, into "
        "pyenv, or get it with `make pythons`; or leave it out by decision: "
        "make release RELEASE_ARGS='--without 3.12 --without 3.14'\n"
    )
    assert not (checkout / "dist").exists()


def test_the_tools_of_a_release_are_those_that_are_locked():
    """The result of a release names their versions."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"][
        "release"
    ]
    locked = (ROOT / "requirements-release.txt").read_text(encoding="utf-8")
    names = [re.match(r"[\w-]+", requirement)[0] for requirement in groups]
    assert [name for name in names if f"\n{name}==" not in locked] == []
