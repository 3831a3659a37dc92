"""The wheel, installed in an otherwise empty environment: it has the packs, and records and replays the demo's agent."""

import glob
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

import autochron
from autochron import provider
from tests.cli.processes import ROOT, environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def run(*command, **more):
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, check=False, **more
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (path,) = glob.glob(str(folder / "*.whl"))
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return the `bin` folder of an environment with the wheel, its dependencies and an SDK, installed by pip."""
    folder = tmp_path_factory.mktemp("env")
    run(sys.executable, "-m", "venv", "--without-pip", folder)  # the pip of this environment installs into it
    with open(os.path.join(ROOT, "requirements.txt")) as pins:
        openai = next(line for line in pins if line.startswith("openai=="))
    pinned = openai.split()[0].rstrip("\\").strip()
    # Most modules of the SDK are never imported, so they are compiled when they are.
    options = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    install = subprocess.run(
        [sys.executable, "-m", "pip", "--python", folder, "install", *options, wheel, pinned],
        capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    if install.returncode and "No matching distribution" in install.stderr + install.stdout:
        pytest.skip("packages can't be installed here")
    assert install.returncode == 0, install.stdout + install.stderr
    return folder / "bin"


def test_the_wheel_contains_the_packs_and_nothing_from_outside_the_package(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    packs = {os.path.basename(name) for name in names if name.startswith("autochron/packs/")}
    assert packs == {os.path.basename(path) for path in glob.glob(os.path.join(ROOT, "rules", "*.toml"))}
    assert "autochron/redaction/secrets.toml" in names
    assert "autochron/mutate/data/operators.toml" in names
    templates = {name for name in names if name.startswith("autochron/incident/templates/")}
    assert templates == {
        f"autochron/incident/templates/{name}"
        for name in os.listdir(os.path.join(ROOT, "autochron", "incident", "templates"))
    }
    for folder in ("templates", "static"):  # of the HTML report of a mutation study
        files = {
            name.rpartition("/")[2] for name in names if name.startswith(f"autochron/mutate/report/{folder}/")
        }
        licences_apart = {"LICENSE", "THIRD-PARTY.txt"}  # they are in the metadata
        assert (
            files
            == set(os.listdir(os.path.join(ROOT, "autochron", "mutate", "report", folder))) - licences_apart
        )
    assert "autochron/py.typed" in names
    licences = {name.partition(".dist-info/licenses/")[2] for name in names if ".dist-info/licenses/" in name}
    assert licences == {
        "LICENSE",
        "autochron/mutate/report/static/LICENSE",
        "autochron/mutate/report/static/THIRD-PARTY.txt",
    }
    assert {name.partition("/")[0] for name in names} == {
        "autochron",
        "autochron_children.pth",
        next(name for name in names if ".dist-info/" in name).partition("/")[0],
    }


def test_the_installed_wheel_records_and_replays_the_demos_agent(installed, tmp_path):
    agent = os.path.join(ROOT, "incidents", "refund")
    for name in ("agent.py", "tools.py", "autochron.toml"):
        shutil.copy(os.path.join(agent, name), tmp_path)
    tool = installed / "autochron"
    env = environment(PATH=f"{installed}{os.pathsep}{os.environ['PATH']}")
    del env["PYTHONPATH"]
    with provider.serve(script=os.path.join(agent, "provider.json")) as running:
        env["OPENAI_BASE_URL"] = running.url
        recorded = run(tool, "run", "agent.py", cwd=tmp_path, env=env)
        calls = running.calls
    assert calls == 4
    assert "look_up_order" in recorded.stdout
    assert "model ×4" in recorded.stderr
    for missing in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        del env[missing]
    replayed = run(tool, "replay", "last", cwd=tmp_path, env=env)
    assert replayed.stdout == recorded.stdout
    assert replayed.stderr.startswith("autochron: the same: ")
    rules = run(tool, "rules", cwd=tmp_path, env=env)
    assert "openai" in rules.stdout
    assert "issue_refund" in rules.stdout
    run(tool, "traces", "export", "last", "t.jsonl", cwd=tmp_path, env=env)
    output = run(tool, "incident", "new", "t.jsonl", "refund", cwd=tmp_path, env=env).stdout
    assert "pytest is not installed here, so nobody has seen the test fail yet" in output
    assert sorted(os.listdir(tmp_path / "refund")) == [
        "README.md",
        "autochron.toml",
        "baseline.json",
        "test_refund.py",
        "trace.jsonl",
    ]
    assert (
        run(installed / "python", "-m", "autochron", "replay", "t.jsonl", cwd=tmp_path, env=env).stdout
        == recorded.stdout
    )


def test_the_metadata_of_the_installed_wheel_has_the_version_of_the_package(installed, tmp_path):
    program = (
        "import autochron, importlib.metadata as m; print(autochron.__version__, m.version('autochron'))"
    )
    assert (
        run(installed / "python", "-I", "-c", program, cwd=tmp_path).stdout.split()
        == [autochron.__version__] * 2
    )
    shown = run(installed / "autochron", "--version", cwd=tmp_path).stdout
    assert shown == f"autochron {autochron.__version__}\n"


STARTS = "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], check=True)\n"

CHILD = "import autochron\n\n@autochron.boundary\ndef step(n):\n    return n\n\nprint(step(7))\n"


def test_the_installed_wheel_records_and_replays_a_child_process(installed, tmp_path):
    (tmp_path / "starts.py").write_text(STARTS, encoding="utf-8")
    (tmp_path / "child.py").write_text(CHILD, encoding="utf-8")
    env = environment()
    del env["PYTHONPATH"]
    recorded = run(installed / "autochron", "run", "starts.py", cwd=tmp_path, env=env)
    assert recorded.stdout == "7\n"
    assert "step ×1" in recorded.stderr
    replayed = run(installed / "autochron", "replay", "last", cwd=tmp_path, env=env)
    assert replayed.stdout == "7\n"
    assert replayed.stderr.startswith("autochron: the same: 1 crossing ")
