"""The site is built without a warning, holds every page, and asks nobody else for anything."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-docs" / "bin" / "python"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site into a folder of its own."""
    if not PYTHON.is_file():
        pytest.skip("`make docs` makes .venv-docs")
    folder = tmp_path_factory.mktemp("site")
    words = [
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-d",
        folder / "trees",
        "docs",
        folder / "html",
    ]
    built = subprocess.run(
        [PYTHON, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=110
    )
    assert (built.returncode, built.stderr) == (0, "")
    yield folder / "html"
    shutil.rmtree(folder)


@pytest.mark.slow
def test_the_site_has_each_page_and_each_file_that_a_page_asks_for(site):
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in (ROOT / "docs").rglob("*.md")}
    built = {str(page.relative_to(site).with_suffix("")) for page in site.rglob("*.html")}
    assert built - pages == {"genindex", "search", "py-modindex"}
    assert pages <= built
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        asked = re.findall(r"<(?:script|link|img)\b[^>]*? (?:src|href)=\"([^\"]+)\"", text)
        assert [address for address in asked if re.match(r"(?:https?:)?//", address)] == [], page
        files = [
            address.partition("?")[0].partition("#")[0]
            for address in asked
            if not address.startswith("data:")
        ]
        assert [file for file in files if file and not (page.parent / file).exists()] == [], page


@pytest.mark.slow
def test_the_styles_load_nothing_from_elsewhere(site):
    for style in site.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)]*", style.read_text("utf-8")) == [], (
            style
        )


@pytest.mark.slow
def test_the_search_knows_the_words_of_the_pages(site):
    index = (site / "searchindex.js").read_text("utf-8")
    found = json.loads(index[index.index("(") + 1 : index.rindex(")")])
    assert "reference/rule-file" in found["docnames"]
    assert "allow_unwoven" in json.dumps(found["terms"])


@pytest.mark.slow
def test_the_python_page_has_the_docstrings(site):
    page = re.sub(r"<[^>]+>", "", (site / "reference" / "python.html").read_text("utf-8"))
    assert "Serve a recorded trace to the boundaries that are crossed while a block runs" in page
    assert "DivergenceError" in page
