"""The pages of docs/explanation agree with the contract, and their commands do what they say."""

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from autochron import provider
from autochron.model import KINDS
from tests.cli.processes import finish, start_with
from tests.docs.links import anchors_of, links_of, pages

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "explanation"
DESIGN = (ROOT / "docs" / "design.md").read_text("utf-8")
GUARANTEES = (FOLDER / "guarantees.md").read_text("utf-8")
GLOSSARY = FOLDER / "glossary.md"
TERMS = re.findall(r"^## (.+)$", GLOSSARY.read_text("utf-8"), re.MULTILINE)


def of_design():
    """Return the title and the tests of each guarantee of the contract, by number."""
    section = DESIGN.split("\n## Guarantees\n")[1].split("\n## ")[0]
    parts = re.split(r"^(\d+)\. \*\*(.+?)\.\*\*", section, flags=re.MULTILINE)[1:]
    return {
        int(number): (title, re.findall(r"`(tests/[\w./-]+)`", text))
        for number, title, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }


def test_the_guarantees_are_those_of_the_contract_with_their_tests():
    parts = re.split(r"^## (\d+)\. (.+)\n", GUARANTEES, flags=re.MULTILINE)[1:]
    shown = {
        int(number): (title, re.findall(r"\]\(\.\./\.\./(tests/[\w./-]+\.py)\)", text))
        for number, title, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }
    assert shown == of_design()
    assert len(shown) == 10


def test_a_guarantee_says_how_it_is_tested():
    for text in re.split(r"^## \d+\. ", GUARANTEES, flags=re.MULTILINE)[1:]:
        assert "**How it is tested.**" in text
        assert "Tests: " in text


def test_the_glossary_is_sorted_and_has_the_words_of_the_contract():
    assert sorted(TERMS, key=str.lower) == TERMS
    words = re.findall(r"^\| (.*?) \| ", DESIGN.split("\n## Words\n")[1].split("\n## ")[0], re.MULTILINE)
    not_here = {"term", "match", "outcome"}  # `match` is internal; an outcome is explained with a crossing
    assert {word for word in words if word not in not_here} <= {term.lower() for term in TERMS}


def test_the_glossary_names_each_kind():
    text = GLOSSARY.read_text("utf-8").split("\n## Boundary\n")[1].split("\n## ")[0]
    assert re.findall(r"`(\w+)`\s+\(", text) == list(KINDS)


def test_links_into_the_glossary_lead_to_a_term():
    """Links are followed by another test; this one sees that the terms are used at all."""
    used = {
        link.target.partition("#")[2]
        for page in pages()
        for link in links_of(page)
        if "glossary.md#" in link.target
    }
    assert used <= anchors_of(GLOSSARY)
    assert len(used) > 10


def test_the_cases_of_replay_are_headed():
    assert (FOLDER / "replay.md").read_text("utf-8").count("\n## ") > 12


def commands(page):
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line.removeprefix("$ ").partition("  #")[0].strip() for line in lines if line.startswith("$ ")]


@pytest.mark.slow
@pytest.mark.timeout(400)  # `incident new` runs its test four times, which takes minutes on a busy machine
@pytest.mark.parametrize(
    "page", [ROOT / "docs" / "index.md", FOLDER / "replay.md"], ids=lambda page: page.name
)
def test_the_commands_of_a_page_run(page, tmp_path):
    for name in ("agent.py", "tools.py", "provider.json"):
        shutil.copy(ROOT / "incidents" / "refund" / name, tmp_path)
    kept = {
        name: value for name, value in os.environ.items() if name not in {"OPENAI_API_KEY", "OPENAI_BASE_URL"}
    }
    environment = {**kept, "NO_PROXY": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    ended, asked = {}, {}
    with provider.serve(script=tmp_path / "provider.json") as model:
        with_model = {**environment, "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-page"}
        assert run(RUN, tmp_path, with_model).status == 0
        for command in commands(page):
            before = model.calls
            ended[command] = run(command, tmp_path, environment) if command != RUN else None
            asked[command] = model.calls - before
    # The test of the incident is red until the tool is fixed; all else ends well.
    wrong = {
        command: done.said
        for command, done in ended.items()
        if done and done.status != int("pytest" in command)
    }
    assert wrong == {}
    assert {command for command, count in asked.items() if count} == {
        command for command in ended if "after:" in command
    }


RUN = "autochron run agent.py"


def run(command, folder, variables):
    first, *rest = shlex.split(command)
    return finish(start_with(variables, [sys.executable, "-m", first, *rest], folder), limit=180)
