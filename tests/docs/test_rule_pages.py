"""`docs/rules` has a page for each rule of `autochron check`, and its examples and rule files do what the page says."""

import re
from pathlib import Path

import pytest

from autochron.detect.ambient_codec import form_of
from autochron.detect.catalogue import SOURCES
from autochron.detect.scan.scan import scan
from autochron.diagnostics.check import check
from autochron.model import CATEGORIES, Checked
from autochron.report.findings import sarif
from autochron.rules.loading import load_rules

FOLDER = Path(__file__).parents[2] / "docs" / "rules"
INDEX = (FOLDER / "README.md").read_text("utf-8")
PAGES = {
    category: page.read_text("utf-8")
    for category in CATEGORIES
    if (page := FOLDER / f"{category}.md").is_file()
}
SECTIONS = ["Found", "Not found", "What to do", "Limits"]
MARK = "  # →"


def section(page: str, title: str) -> str:
    """Return the text of a section; empty if there is none."""
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def examples(language: str, title: str):
    """Return each block of a section, with the rule of its page, as parameters of a test."""
    return [
        pytest.param(rule, block, id=f"{rule}-{number}")
        for rule, page in PAGES.items()
        for number, block in enumerate(blocks(language, section(page, title)), 1)
    ]


def reported(source: str) -> dict[int, set[str]]:
    """Return the categories of the findings by line, without those that are harmless."""
    found: dict[int, set[str]] = {}
    for call in scan(source):
        if not call.is_harmless:
            found.setdefault(call.line, set()).add(call.category)
    return found


def test_each_category_has_a_page_and_nothing_else_has():
    assert {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*")} == {
        "README.md",
        *(f"{category}.md" for category in CATEGORIES),
    }


@pytest.mark.parametrize("rule", PAGES)
def test_a_page_has_its_parts(rule):
    page = PAGES[rule]
    assert page.startswith(f"# {rule}\n\nThis rule finds ")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == SECTIONS
    assert len(page.splitlines()) < 90
    for title in ("Found", "Not found"):
        assert blocks("python", section(page, title)), title
    shown = [block for title in ("Found", "Not found") for block in blocks("python", section(page, title))]
    assert blocks("python", page) == shown, "a test runs only the examples of these sections"
    assert blocks("toml", page) == blocks("toml", section(page, "What to do"))


@pytest.mark.parametrize(("rule", "source"), examples("python", "Found"))
def test_the_marked_lines_are_found_and_no_others(rule, source):
    marked = {number for number, line in enumerate(source.splitlines(), 1) if line.endswith(MARK)}
    assert marked
    assert reported(source) == {line: {rule} for line in marked}


@pytest.mark.parametrize(("rule", "source"), examples("python", "Not found"))
def test_nothing_is_found_where_the_page_says_so(rule, source):
    assert MARK not in source
    assert reported(source) == {}


@pytest.mark.parametrize("rule", ["files", "subprocess"])
def test_the_line_that_reads_is_the_one_that_the_page_names(rule):
    found = section(PAGES[rule], "Found")
    ((line, reading),) = re.findall(r"For line (\d+) this is line (\d+)\.", found)
    reads = {call.line: call.reads for call in scan(blocks("python", found)[0])}
    assert reads[int(line)] == (int(reading),)


@pytest.mark.parametrize(("rule", "rules"), examples("toml", "What to do"))
def test_a_rule_file_covers_a_finding_of_the_first_example(rule, rules, tmp_path):
    program = tmp_path / "agent.py"
    program.write_text(blocks("python", section(PAGES[rule], "Found"))[0], "utf-8")
    (tmp_path / "autochron.toml").write_text(rules, "utf-8")
    checked = check([str(program)], load_rules(tmp_path / "autochron.toml"))
    assert {finding.covered for finding in checked.findings} & {"boundary", "recorded", "ignored"}
    assert checked.stale == ()


@pytest.mark.parametrize("rule", PAGES)
def test_a_page_names_the_choices(rule):
    text = section(PAGES[rule], "What to do")
    is_recordable = any(source.category == rule and form_of(source) is not None for source in SOURCES)
    choices = ["boundary", *(["Record the value"] if is_recordable else []), "Ignore it"]
    choices += ["Make the code deterministic", "baseline"]
    steps = re.findall(r"^(\d)\. (.+)$", text, re.MULTILINE)
    assert [int(number) for number, _ in steps] == [*range(1, len(choices) + 1)]
    assert [choice for choice, (_, step) in zip(choices, steps, strict=True) if choice not in step] == []
    assert (f'ambient = ["{rule}"]' in text) == is_recordable
    assert f"`# autochron: ignore[{rule}] reason`" in text


def test_the_comment_of_a_page_ignores_a_finding(tmp_path):
    program = tmp_path / "agent.py"
    for rule, page in PAGES.items():
        (comment,) = re.findall(r"`(# autochron: ignore\[.+\] reason)`", page)
        source = blocks("python", section(page, "Found"))[0].replace(MARK, f"  {comment}")
        program.write_text(source, "utf-8")
        checked = check([str(program)], load_rules(None, root=tmp_path))
        assert {finding.covered for finding in checked.findings} == {"ignored"}, rule
        assert checked.stale == ()


# --- the index --------------------------------------------------------------------------------------------------------


def test_the_index_has_a_row_for_each_page():
    """What a value depends on is said as reports say it."""
    rows = re.findall(r"^\| \[`([\w-]+)`\]\(([\w-]+)\.md\) \| (.+?) \| .+ \|$", INDEX, re.MULTILINE)
    (run,) = sarif(Checked(findings=()))["runs"]
    texts = {rule["id"]: rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]}
    assert [(rule, page) for rule, page, _ in rows] == [(category, category) for category in CATEGORIES]
    assert [rule for rule, _, what in rows if f"depends on {what}, outside" not in texts[rule]] == []


@pytest.mark.parametrize("rules", blocks("toml", INDEX))
def test_the_rule_files_of_the_index_can_be_loaded(rules, tmp_path):
    (tmp_path / "autochron.toml").write_text(rules, "utf-8")
    assert load_rules(tmp_path / "autochron.toml").file


@pytest.mark.parametrize("page", [INDEX, *PAGES.values()], ids=["README", *PAGES])
def test_links_lead_to_pages_and_their_sections(page):
    for path, anchor in re.findall(r"\]\(([^)#]+)#?([^)]*)\)", page):
        target = FOLDER / path
        assert target.is_file(), path
        titles = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
        assert not anchor or anchor in anchors, anchor
