"""The README is short, its tables and its picture are up to date, and it names what it should."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench.paper import __main__ as paper
from bench.paper import plots
from incidents import picture
from incidents.suite import IncidentError, load_all
from tests.docs import pages
from tests.frameworks.libraries import packs
from tests.frameworks.table import read_frameworks

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
GALLERY = (ROOT / "incidents" / "README.md").read_text("utf-8")
LINES = 150


def test_it_is_short():
    assert len(README.splitlines()) <= LINES


def library_rows():
    """Return the names of the libraries of each row of the table that has libraries."""
    table = README.split("\n## What works with what\n")[1].split("\n## ")[0]
    cells = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("| ")]
    return [[re.sub(r" \(.*\)", "", name) for name in cell.split(", ")] for cell in cells[1:5]]


def test_it_names_each_library_that_works():
    named = [name for row in library_rows() for name in row]
    assert sorted(named) == sorted({*packs(), *read_frameworks()})


def test_the_packs_of_a_row_do_what_it_says():
    sdks, frameworks, others, without = library_rows()
    kinds = {name: {rule["kind"] for rule in pack.get("boundary", ())} for name, pack in packs().items()}
    assert [name for name in sdks if "model" not in kinds[name]] == []
    assert [name for name in frameworks if not kinds[name] & {"tool", "router"}] == []
    assert [name for name in others if name not in kinds] == []
    assert [name for name in without if name in kinds] == []


def test_the_number_of_sdks_of_the_incidents_is_right():
    sdks = {re.split(r"[, ]", incident.sdk)[0] for incident in load_all()}
    assert (len(load_all()), len(sdks)) == (12, 5)
    assert "twelve failing agents on five SDKs and frameworks" in README


# --- the picture ------------------------------------------------------------------------------------------------------

DRAWN = picture.PICTURE.read_text("utf-8")


def test_the_picture_shows_the_commands_and_the_lines_of_its_script():
    shown = iter(picture.shown(DRAWN))
    for step in picture.STEPS:
        assert not step.comment or next(shown) == f"# {step.comment}"
        assert next(shown) == f"$ {step.command}"
        for pattern in step.shows:
            beginning = pattern.removesuffix(".*").replace("E +", "E   ")
            assert re.match(beginning, next(shown))
    assert list(shown) == []


def test_the_picture_needs_no_other_file_and_no_motion():
    assert not re.search(r"(?:href|src|url)\b|@import", DRAWN)
    style = next(ET.fromstring(DRAWN).iter("{http://www.w3.org/2000/svg}style")).text
    still, moving = style.split("@media (prefers-reduced-motion: no-preference)")
    assert "animation" in moving
    assert not re.search("animation|opacity|keyframes", still)
    assert "@media (prefers-color-scheme: dark)" in still


def test_another_output_makes_another_picture():
    lines = [picture.Line(text, "output", 0) for text in picture.shown(DRAWN)]
    assert picture.compared(lines, DRAWN) == []
    lines[4] = picture.Line("    refunded 1.00 on an order of 39.90", "output", 0)
    assert "+    refunded 1.00 on an order of 39.90" in picture.compared(lines, DRAWN)


@pytest.mark.slow
def test_the_picture_is_that_of_a_new_run():
    assert picture.compared(list(picture.transcript()), DRAWN) == [], "run python -m incidents.picture"


def test_the_picture_shows_the_commands_of_the_page():
    commands = [step.command for step in picture.STEPS if step.command.startswith("autochron")]
    typed = [
        line.removeprefix("$ ").partition("    #")[0]
        for block in pages.blocks(ROOT / "README.md")
        for line in block.text.splitlines()
    ]
    assert [command for command in commands if command not in typed] == []


# --- the suite of incidents -------------------------------------------------------------------------------------------


ANEW = "run python -m bench.paper --readme"


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in paper.PAGES])
def test_the_tables_are_those_of_the_last_study_of_the_current_incidents(page):
    studies = paper.kept(paper.digest(load_all()))
    assert studies, f"no study that is kept is of the incidents as they are: {ANEW}"
    text = page.read_text("utf-8")
    assert paper.with_table(text, paper.PAGES[page](studies)) == text, f"the table is another one: {ANEW}"


def test_the_studies_are_of_all_incidents():
    studies = paper.kept(paper.digest(load_all()))
    for study in studies:
        assert [row.name for row in study.rows] == [incident.name for incident in load_all()]
        assert [row.wrong for row in study.rows] == [()] * len(study.rows)
    for name, drawn in plots.pictures(studies[0]).items():
        assert f"](../bench/results/{name}.svg)" in GALLERY
        assert (paper.RESULTS / f"{name}.svg").read_text("utf-8") == drawn, f"it shows another study: {ANEW}"


def test_a_page_without_a_place_for_the_table_is_refused():
    for mark in (paper.BEGIN, paper.END):
        with pytest.raises(IncidentError, match=r"the page has no line '<!-- the table"):
            paper.with_table(README.replace(mark, ""), "")


def test_each_incident_is_in_the_gallery():
    assert [
        incident.name
        for incident in load_all()
        if f"]({incident.name}/README.md) | {incident.sdk} | {incident.failure} |" not in GALLERY
    ] == []


def test_the_paper_is_named_with_its_authors_and_number():
    cited = (
        "*Chronicle: Cut-Point Replay for Regression Testing of LLM Agents* by Tisha Chawla and Susheem Koul"
        " ([arXiv:2609.20625](https://arxiv.org/abs/2609.20625))"
    )
    for page in (README, GALLERY):
        assert cited in " ".join(page.split())
