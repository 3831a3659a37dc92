"""The steps of the GitHub action, run as the runner runs them, in a project with an incident."""

import json
import shutil
import subprocess
import sys

import jsonschema
import pytest

from tests.cli.processes import ROOT, autochron, write
from tests.release.runner import ACTION, EXPRESSION, STEPS, Runner, names

INSTALL, REPLAY, CHECK, COLLECT = STEPS
RULES = 'version = 1\n[[boundary]]\nname = "pay"\nkind = "tool"\ndefine = "shop:pay"\n'
SHOP = "def pay(cents):\n    return {'paid': cents}\n"
AGENT = "import time\nimport shop\n\nprint(shop.pay(4821300), time.time())\n"
TEST = """\
import pytest

@pytest.mark.autochron("trace.jsonl", live="pay[1]")
def test_pay(replay):
    print("::warning::a line of a trace")
    replay.run()
    assert replay["pay[1]"].result == {"blocked": True}, "paid\\nagain, 100%"
"""
FIXED = "def pay(cents):\n    return {'blocked': True}\n"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Record the agent, and make its folder a project with an incident."""
    folder = tmp_path_factory.mktemp("recorded")
    write(
        folder,
        {"autochron.toml": RULES, "shop.py": SHOP, "agent.py": AGENT, "incidents/pay/test_pay.py": TEST},
    )
    assert autochron(folder, "run", "agent.py").status == 0
    assert autochron(folder, "traces", "export", "last", "incidents/pay/trace.jsonl").status == 0
    return folder


@pytest.fixture
def runner(recorded, tmp_path):
    """Return a function that makes a job with some inputs, in a checkout that has the project in some folder."""

    def make(where=".", **inputs):
        shutil.copytree(recorded, tmp_path / "checkout" / where)
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        job = Runner(tmp_path / "checkout", tmp_path / "temporary", {"working-directory": where, **given})
        said = job.run(INSTALL)
        assert said.status == 0, said.text
        return job

    return make


def test_an_incident_that_happens_again_fails_the_step_and_is_annotated(runner):
    job = runner()
    said = job.run(REPLAY)
    assert said.status == 1
    assert (
        "::error title=incident%3A incidents.pay.test_pay.test_pay,file=incidents/pay/test_pay.py,line=3::"
        in said.text
    )
    assert "AssertionError: paid%0A  again, 100%25%0A" in said.text
    assert (job.outputs()["tests"], job.outputs()["failed"]) == ("1", "1")
    assert "0 of 1 tests passed" in job.summary
    assert "<code>incidents.pay.test_pay.test_pay</code>" in job.summary
    (page,) = (job.report / "failed").glob("*.html")
    assert '"paid":4821300' in page.read_text("utf-8")


def test_what_tests_print_is_no_command_to_the_runner(runner):
    lines = runner().run(REPLAY).text.splitlines()
    (stopped,) = [line for line in lines if line.startswith("::stop-commands::")]
    begin, end = lines.index(stopped), lines.index(f"::{stopped.removeprefix('::stop-commands::')}::")
    said = [number for number, line in enumerate(lines) if line == "::warning::a line of a trace"]
    assert said
    assert all(begin < number < end for number in said)
    assert [line for line in lines[end:] if line.startswith("::error ")]


def test_a_mended_agent_passes_from_a_folder_of_the_repository(runner):
    job = runner("parts/shop")
    (job.workspace / "parts/shop/shop.py").write_text(FIXED)
    said = job.run(REPLAY)
    assert said.status == 0, said.text
    assert "::error" not in said.text
    assert (job.outputs()["tests"], job.outputs()["failed"]) == ("1", "0")


def test_findings_are_annotations_and_valid_sarif_with_paths_from_the_root(runner, pytestconfig):
    job = runner("parts/shop", check="agent.py\nshop.py")
    said = job.run(CHECK)
    assert said.status == 0, said.text
    assert "::warning file=parts/shop/agent.py,line=4,title=autochron clock::time.time" in said.text
    assert job.outputs()["findings"] == "1"
    assert "1 outside every boundary" in job.summary
    schema = json.loads((pytestconfig.rootpath / "tests/release/schemas/sarif-2.1.0.json").read_text("utf-8"))
    log = json.loads((job.report / "findings.sarif").read_text("utf-8"))
    assert job.outputs()["sarif"] == str(job.report / "findings.sarif")
    jsonschema.validate(log, schema)
    (result,) = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "parts/shop/agent.py"


@pytest.mark.parametrize(
    ("inputs", "status", "says"),
    [
        ({"fail_on_findings": "true"}, 1, "::warning file=agent.py,line=4"),
        ({"check": ""}, 0, ""),
        ({"check": "nowhere"}, 2, "::error::autochron check ended with status 2"),
    ],
    ids=["findings fail", "no check", "a path that isn't there"],
)
def test_what_the_check_says_and_how_it_ends(runner, inputs, status, says):
    job = runner(**inputs)
    said = job.run(CHECK)
    assert (said.status, says in said.text) == (status, True), said.text
    assert bool(job.outputs()["sarif"]) == ("fail_on_findings" in inputs)


@pytest.mark.parametrize(
    ("inputs", "status", "says"),
    [
        ({"incidents": ""}, 0, ""),
        ({"incidents": "incidents\nelsewhere"}, 2, "::error::no incidents here: elsewhere;"),
        ({"incidents": "shop.py"}, 5, "::error::pytest found no incident test"),
        ({"pytest_args": "--no-such-option"}, 4, "::error::pytest ended with status 4"),
    ],
    ids=["none", "a folder that isn't there", "no test", "a wrong option"],
)
def test_what_the_replay_says_and_how_it_ends(runner, inputs, status, says):
    said = runner(**inputs).run(REPLAY)
    assert (said.status, says in said.text) == (status, True), said.text


def test_accepted_findings_are_none(runner):
    job = runner("parts/shop", baseline="accepted.json")
    accept = ("check", ".", "--baseline", "accepted.json", "--update-baseline")
    assert autochron(job.workspace / "parts/shop", *accept).status == 0
    said = job.run(CHECK)
    assert (said.status, job.outputs()["findings"]) == (0, "0"), said.text
    assert "::" not in said.text


def test_traces_and_the_store_are_collected_and_links_are_not(runner):
    job = runner()
    (job.workspace / "incidents/pay/other.jsonl").symlink_to("/etc/hostname")
    assert job.run(COLLECT).status == 0
    kept = {name for name in names(job.report) if not name.startswith("store/traces.db-")}
    assert kept == {"traces/incidents/pay/trace.jsonl", "store/traces.db", "pages/incidents/pay/trace.html"}


HOSTILE = "a b'c\"d;touch pwned;$(touch pwned)`touch pwned`"


def test_no_input_is_run(runner, recorded):
    job = runner(
        HOSTILE,
        incidents=f"incidents/{HOSTILE}\n-q $(touch pwned)",
        check=f"{HOSTILE}.py",
        pytest_args="-k\nnot $(touch pwned) and (pay)",
    )
    project = job.workspace / HOSTILE
    shutil.copytree(project / "incidents/pay", project / "incidents" / HOSTILE)
    shutil.copytree(project / "incidents/pay", project / "-q $(touch pwned)")
    shutil.copy(project / "agent.py", project / f"{HOSTILE}.py")
    said = {name: job.run(name) for name in (REPLAY, CHECK, COLLECT)}
    assert said[REPLAY].status == 4, said[REPLAY].text  # pytest reads that expression, and no shell does
    assert "not $(touch pwned) and (pay)" in said[REPLAY].text
    assert (said[CHECK].status, job.outputs()["findings"]) == (0, "1"), said[CHECK].text
    assert said[COLLECT].status == 0, said[COLLECT].text
    assert "traces/-q $(touch pwned)/trace.jsonl" in names(job.report)
    assert list(job.workspace.parent.rglob("pwned*")) == []


@pytest.mark.parametrize(
    ("version", "package"), [("", ROOT), ("0.1.0", "autochron==0.1.0"), (HOSTILE, f"autochron=={HOSTILE}")]
)
def test_what_is_installed(tmp_path, version, package):
    """With an interpreter that notes its arguments."""
    shim = tmp_path / "my python"
    shim.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    shim.chmod(0o700)
    job = Runner(
        tmp_path, tmp_path / "temporary", {"python": str(shim), "install": "true", "version": version}
    )
    said = job.run(INSTALL)
    assert said.status == 0, said.text
    install, shown = map(json.loads, said.text.splitlines())
    assert install == [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--",
        package,
        "pytest",
    ]
    assert shown == ["-m", "autochron", "--version"]
    assert not list(tmp_path.rglob("pwned*"))


def test_scripts_have_no_expressions_and_inputs_are_documented():
    """An expression in a script is replaced before bash reads it, and so its value would be run."""
    assert [name for name, step in STEPS.items() if "${{" in step["run"]] == []
    used = {
        match[1].removeprefix("inputs.")
        for step in ACTION["runs"]["steps"]
        for text in [*step.get("env", {}).values(), *step.get("with", {}).values()]
        for match in EXPRESSION.finditer(str(text))
        if match[1].startswith("inputs.")
    }
    assert used | {"sarif"} == set(ACTION["inputs"])  # that one is asked for in an `if`
    for about in [*ACTION["inputs"].values(), *ACTION["outputs"].values()]:
        assert about["description"].endswith(".") or ":" in about["description"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_shellcheck_finds_nothing_in_the_scripts(tools, tmp_path):
    for number, step in enumerate(STEPS.values()):
        (tmp_path / f"{number}.sh").write_text(step["run"])
    files = sorted(map(str, tmp_path.glob("*.sh")))
    done = subprocess.run(
        [tools / "shellcheck", "--shell=bash", *files], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
