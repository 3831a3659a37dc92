"""The hook of pre-commit, run by pre-commit itself from this repository."""

import os
import subprocess

import pytest

from tests.cli.processes import ROOT, write

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]
IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")


def run(*command, cwd, **variables):
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False, timeout=500,
        env={**{name: value for name, value in os.environ.items() if not name.startswith("GIT_")}, **variables},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def repository(tmp_path):
    """Return a repository of what is in this checkout, committed: pre-commit takes a hook from a commit."""
    folder = tmp_path / "autochron"
    assert (
        run("git", "clone", "--quiet", "--no-hardlinks", "--depth=1", f"file://{ROOT}", folder, cwd=tmp_path)[
            0
        ]
        == 0
    )
    changed = run("git", "ls-files", "--modified", "--others", "--exclude-standard", "-z", cwd=ROOT)[1].split(
        "\0"
    )
    for name in filter(None, changed):
        source = os.path.join(ROOT, name)
        if os.path.exists(source):
            with open(source, "rb") as file:
                write(folder, {name: file.read()})
    run("git", "add", "--all", cwd=folder)
    run("git", *IDENTITY, "commit", "--quiet", "--allow-empty", "--message", "as it is here", cwd=folder)
    return folder


def test_the_hook_stops_a_commit_with_a_call_outside_every_boundary(tools, repository, tmp_path):
    project = tmp_path / "project"
    write(project, {"clock.py": "import time\n\nprint(time.time())\n", "plain.py": "print(1)\n"})
    run("git", "init", "--quiet", cwd=project)
    run("git", "add", "--all", cwd=project)
    home = {"PRE_COMMIT_HOME": str(tmp_path / "home")}
    command = (tools / "pre-commit", "try-repo", repository, "autochron-check", "--verbose", "--files")
    status, said = run(*command, "clock.py", "plain.py", cwd=project, **home)
    if "No matching distribution found" in said:
        pytest.skip("packages can't be installed here")
    assert (status, "clock.py:3" in said, "plain.py" in said) == (1, True, False), said
    assert run(*command, "plain.py", cwd=project, **home)[0] == 0
