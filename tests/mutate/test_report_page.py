"""The standard page in a real browser: what it shows, without requests and without errors."""

import pytest

from autochron.mutate.report.page import write_page
from tests.mutate.studies import GUARD, METHODS, complete_study, empty, refund, study
from tests.viewing import browser

BROWSER = browser.find()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        BROWSER is None, reason=f"no browser is installed (looked for {', '.join(browser.NAMES)})"
    ),
]

# The page is made of web components, so its content is in their shadow roots.
SHADOWS = """
globalThis.shadows = (root = document) => [...root.querySelectorAll("*")].flatMap(
  (each) => (each.shadowRoot ? [each.shadowRoot, ...shadows(each.shadowRoot)] : []),
);
globalThis.all = (selector) => shadows().flatMap((root) => [...root.querySelectorAll(selector)]);
globalThis.text = (node) => node.textContent.replace(/\\s+/g, " ").trim();
true
"""


@pytest.fixture(scope="module")
def running_tab(tmp_path_factory):
    with browser.tab(BROWSER, tmp_path_factory.mktemp("browser")) as tab:
        yield tab


def open_page(tab, subject, file, method=None, where=""):
    """Write the page of a study and open it."""
    write_page(subject, str(file), method)
    tab.errors.clear()
    tab.requests.clear()
    tab.open(f"file://{file}{where}")
    tab.wait("document.readyState === 'complete'")
    tab.js(SHADOWS)
    tab.wait("all('mte-metrics-table').length > 0")
    return tab


def rows(tab):
    """Return the table's rows: the file, its two scores and the counts behind them."""
    cells = tab.wait("all('tbody tr').length && all('tbody tr').map((row) => [...row.cells].map(text))")
    return [[cell for cell in row if cell] for row in cells]


def assert_no_errors_and_no_requests(tab, file):
    assert tab.errors == []
    requested = {url for url in tab.requests if not url.startswith("data:")}
    assert {url.partition("#")[0] for url in requested} == {f"file://{file}"}


def test_the_numbers_of_all_files(running_tab, tmp_path):
    file = tmp_path / "page.html"
    tab = open_page(running_tab, complete_study(), file)
    # Killed, survived, timeout, no coverage, ignored, runtime and compile errors; detected, undetected, total.
    numbers = ["50.00", "50.00", "3", "4", "1", "0", "1", "3", "1", "4", "4", "13"]
    none = ["N/A", "N/A", *["0"] * 10]
    assert rows(tab) == [
        ["All files", *numbers],
        ["refund/guarded.py", *numbers],
        ["stale_quote2/guarded.py", *none],
    ]
    assert tab.js("[...document.querySelectorAll('#study span')].map(text)") == [
        "full-stub kills 0 of 13 (0.0 %)",
        "mocks kills 0 of 1 (0.0 %)",
        "cut-point kills 8 of 13 (61.5 %)",
        "full-output kills 10 of 13 (76.9 %)",
        "widened kills 11 of 13 (84.6 %)",
        "escapes: 1",
        "below: the status by cut-point; its score leaves out what ended the process, is no Python, or is argued equivalent",
    ]
    assert tab.js("document.title") == "All files - autochron mutate"
    assert_no_errors_and_no_requests(tab, file)


def test_the_mutants_of_a_file(running_tab, tmp_path):
    file = tmp_path / "page.html"
    tab = open_page(running_tab, complete_study(), file, where="#mutant/refund/guarded.py")
    tab.wait("all('pre code tr.line').length")
    lines = tab.js(
        "all('pre code tr.line').map((row) => row.querySelector('td.code').firstElementChild.textContent)"
    )
    assert "\n".join(lines) == GUARD
    assert sorted(set(tab.js("all('span[data-mutant-id]').map((each) => each.dataset.mutantId)"))) == sorted(
        result.mutant.id for result in refund().results
    )
    assert tab.js("all('svg.mutant-dot title').map(text)") == [
        "core/NumberReplacer Survived",
        "core/ReplaceComparisonOperator_Gt_Lt Timeout",
        "autochron/StringConstant Survived",
        "autochron/After Survived",
        "core/ReplaceComparisonOperator_LtE_Lt Survived",
    ]
    tab.js("all('svg.mutant-dot')[2].dispatchEvent(new MouseEvent('click', {bubbles: true, composed: true}))")
    # The mutated line is shown below the original one, which doesn't have this text.
    assert (
        tab.wait(
            """all('td.code').map((each) => each.textContent.trim()).find((line) => line.includes('"</script><!--"'))"""
        )
        == 'return {"status": "blocked", "note": "</script><!--"}'
    )
    drawer_text = tab.wait("all('mte-ansi-text').map((each) => each.shadowRoot.textContent).join('')")
    assert "what would kill it: assert the note, or don't give one" in drawer_text
    assert_no_errors_and_no_requests(tab, file)


def test_the_methods_are_listed_as_tests(running_tab, tmp_path):
    file = tmp_path / "page.html"
    tab = open_page(running_tab, complete_study(), file, where="#test/methods")
    tab.wait("all('mte-test-file').length")
    text = tab.wait("all('mte-test-file').map((each) => text(each.shadowRoot)).join(' ')")
    for method, role in zip(METHODS, ("Covering", "Covering", "Killing", "Killing", "Killing"), strict=True):
        assert f"{method}: " in text
        assert role in text.partition(f"{method}: ")[2].partition("]")[0]
    assert_no_errors_and_no_requests(tab, file)


def test_the_status_may_be_that_of_another_method(running_tab, tmp_path):
    file = tmp_path / "page.html"
    tab = open_page(running_tab, study(refund()), file, method="widened")
    assert rows(tab)[0][3:] == ["6", "1", "1", "0", "1", "3", "1", "7", "1", "13"]
    assert_no_errors_and_no_requests(tab, file)


def test_a_page_without_a_mutant(running_tab, tmp_path):
    file = tmp_path / "page.html"
    tab = open_page(running_tab, study(empty()), file)
    assert rows(tab)[0] == ["All files", "N/A", "N/A", *["0"] * 10]
    assert tab.js("document.querySelector('#study .good').textContent") == "escapes: 0"
    assert_no_errors_and_no_requests(tab, file)


def test_an_error_of_a_page_is_noticed(running_tab, tmp_path):
    file = tmp_path / "broken.html"
    file.write_text(
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src 'unsafe-inline'\">"
        "<script src='https://example.invalid/x.js'></script><script>console.error('no'); undefined.nothing</script>"
    )
    running_tab.errors.clear()
    running_tab.open(f"file://{file}")
    running_tab.wait("document.readyState === 'complete'")
    assert len(running_tab.errors) == 3
