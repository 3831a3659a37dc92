"""Every link and anchor within the repository leads somewhere, and every page of the site is in a table of contents."""

import re
import subprocess
import sys

import pytest

from tests.docs import links
from tests.docs.links import DOCS, ROOT, Link, links_of, pages, problem_of

PAGES = pages()
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_somewhere(page):
    problems = [problem_of(link) for link in links_of(page) if not link.is_elsewhere]
    assert [problem for problem in problems if problem] == []


def contents(page):
    """Return the pages that the tables of contents of a page name."""
    named = []
    for block in TOCTREE.findall(page.read_text("utf-8")):
        options = [line for line in block.splitlines() if line.startswith(":")]
        for entry in block.splitlines():
            if not entry or entry in options:
                continue
            path = page.parent / entry
            is_glob = ":glob:" in options and "*" in entry
            named += (
                sorted(page.parent.glob(f"{entry}.md"))
                if is_glob
                else [path.with_name(f"{path.name}.md").resolve()]
            )
    return [path for path in named if path != page]


def test_each_page_is_in_one_table_of_contents():
    named = [path for page in sorted(DOCS.rglob("*.md")) for path in contents(page)]
    assert sorted(named) == sorted({*DOCS.rglob("*.md")} - {DOCS / "index.md"})
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        waiting += [path for path in contents(page) if path not in reached]
    assert sorted(reached) == sorted(DOCS.rglob("*.md"))


def test_the_links_that_lead_elsewhere_are_listed():
    listed = subprocess.run(
        [sys.executable, "-m", "tests.docs.links"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "https://arxiv.org/abs/2609.20625\n    " in listed
    assert re.findall(r"^\S+", listed, re.MULTILINE) == [address for address, _ in links.elsewhere()]


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(links, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n[a](other.md) [`[b]` c](other.md#the-keys-of-boundary) [d](#a-page-1) [e](https://example.org/x)\n\n"
        '`[no](link.md)`\n\n```text\n[no](link.md)\n```\n\n<!-- [no](link.md) -->\n\n<img src="demo.svg">\n\n'
        "[gone](gone.md) [away](../away.md) [lost](other.md#lost)\n\n# A page\n",
        "utf-8",
    )
    (tmp_path / "other.md").write_text("## The keys of `[[boundary]]`\n", "utf-8")
    (tmp_path / "demo.svg").touch()
    return page


def test_links_are_found_and_wrong_ones_are_told(page):
    found = links_of(page)
    assert [link.target for link in found] == [
        "other.md",
        "other.md#the-keys-of-boundary",
        "#a-page-1",
        "https://example.org/x",
        "gone.md",
        "../away.md",
        "other.md#lost",
        "demo.svg",
    ]
    problems = [problem for link in found if not link.is_elsewhere and (problem := problem_of(link))]
    assert problems == [
        "page.md: gone.md: there is no such file",
        "page.md: ../away.md: there is no such file",
        "page.md: other.md#lost: there is no such heading",
    ]


def test_a_link_must_not_leave_the_repository(page):
    (page.parent.parent / "away.md").touch()
    assert problem_of(Link(page, "../away.md")) == "page.md: ../away.md: it leads out of the repository"
