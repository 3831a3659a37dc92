"""The files that a forge and an editor read: they fit their published schemas, and a linter of workflows finds nothing."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.cli.processes import ROOT

TOP = Path(ROOT)
WORKFLOWS = sorted((TOP / ".github/workflows").glob("*.yml"))
FORMS = [TOP / f".github/ISSUE_TEMPLATE/{name}.yml" for name in ("bug", "feature")]
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


def done(*command):
    result = subprocess.run(
        list(map(str, command)), cwd=TOP, capture_output=True, text=True, check=False, timeout=100
    )
    return result.returncode, result.stdout + result.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-actions", [TOP / "action.yml"]),
        ("github-workflows", WORKFLOWS),
        ("github-issue-forms", FORMS),
        ("github-issue-config", [TOP / ".github/ISSUE_TEMPLATE/config.yml"]),
    ],
)
def test_a_file_fits_its_schema(tools, schema, files):
    status, said = done(tools / "check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)
    assert files
    assert status == 0, said


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_file_that_does_not_fit_is_found(tools, tmp_path):
    wrong = yaml.safe_load((TOP / "action.yml").read_text("utf-8"))
    del wrong["runs"]["steps"][0]["shell"]
    (tmp_path / "action.yml").write_text(json.dumps(wrong))
    assert (
        done(
            tools / "check-jsonschema", "--builtin-schema", "vendor.github-actions", tmp_path / "action.yml"
        )[0]
        == 1
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_linter_of_workflows_finds_nothing(tools, tmp_path):
    options = ("--offline", "--no-progress", "--config", ".github/zizmor.yml")
    status, said = done(tools / "zizmor", *options, "action.yml", ".github/workflows")
    assert (status, "No findings to report" in said) == (0, True), said
    (tmp_path / "action.yml").write_text(
        (TOP / "action.yml")
        .read_text("utf-8")
        .replace('"$INPUT_PYTHON" -m autochron', "${{ inputs.python }} -m autochron")
    )
    assert "template-injection" in done(tools / "zizmor", *options, tmp_path / "action.yml")[1]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_manifest_of_the_hooks_is_valid(tools):
    assert done(tools / "pre-commit", "validate-manifest", ".pre-commit-hooks.yaml") == (0, "")


def test_workflows_run_the_parts_of_the_build_and_the_action():
    jobs = [job for file in WORKFLOWS for job in yaml.safe_load(file.read_text("utf-8"))["jobs"].values()]
    steps = [step for job in jobs for step in job["steps"]]
    assert "./" in [step.get("uses") for step in steps]
    assert '.ci/run "$VERSION"' in [step.get("run") for step in steps]
    (matrix,) = [job["strategy"]["matrix"]["python"] for job in jobs if "strategy" in job]
    project = (TOP / "pyproject.toml").read_text("utf-8")
    assert matrix == re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)


def test_the_example_gives_inputs_that_the_action_has():
    example = yaml.safe_load((TOP / ".github/workflows/incidents.yml").read_text("utf-8"))
    (step,) = [step for step in example["jobs"]["replay"]["steps"] if step.get("uses") == "./"]
    action = yaml.safe_load((TOP / "action.yml").read_text("utf-8"))
    assert step["with"].keys() <= action["inputs"].keys()
    for folder in [*step["with"]["incidents"].split(), *step["with"]["check"].split()]:
        assert (TOP / folder).exists(), folder


@pytest.mark.parametrize("version", ["3.10", "3.16", "--help"])
def test_the_build_refuses_a_part_that_it_has_not(version):
    assert done("bash", ".ci/run", version) == (2, "usage: .ci/run [3.11 | 3.12 | 3.13 | 3.14 | 3.15]\n")


def test_the_development_container_makes_the_venv_that_its_editor_uses():
    container = json.loads((TOP / ".devcontainer/devcontainer.json").read_text("utf-8"))
    assert container["postCreateCommand"] == "make venv"
    interpreter = container["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert interpreter == "${containerWorkspaceFolder}/.venv/bin/python"
    assert re.fullmatch(r"\S+/python:3\.1[1-5]", container["image"])


@pytest.mark.parametrize("name", ["SECURITY.md", "CODE_OF_CONDUCT.md", ".github/PULL_REQUEST_TEMPLATE.md"])
def test_links_of_a_page_lead_somewhere(name):
    page = TOP / name
    links = LINK.findall(page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_form_for_bugs_asks_for_what_doctor_says():
    form = yaml.safe_load(FORMS[0].read_text("utf-8"))
    (field,) = [field for field in form["body"] if field.get("id") == "doctor"]
    assert "autochron doctor" in field["attributes"]["label"]
    assert field["validations"] == {"required": True}
