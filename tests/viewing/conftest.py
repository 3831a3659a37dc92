"""Pages in a real browser."""

import pytest

from autochron.diff.traces import differ
from autochron.viewing.page import write_page
from autochron.viewing.page_data import trace_page
from autochron.viewing.side_by_side import comparison_page
from tests.viewing import browser

READY = "document.readyState === 'complete' && !!window.viewer"


@pytest.fixture(scope="module")
def running_browser(tmp_path_factory):
    """Start a browser; skip where there is none."""
    program = browser.find()
    if program is None:
        pytest.skip(f"no browser is installed (looked for {', '.join(browser.NAMES)})")
    with browser.tab(program, tmp_path_factory.mktemp("browser")) as tab:
        yield tab


@pytest.fixture
def opened(running_browser, tmp_path):
    """Return a function that shows data in a new tab. At the end, nothing may have gone wrong in it."""
    tab = running_browser
    tab.errors.clear()
    tab.requests.clear()

    def show(data):
        file = tmp_path / "page.html"
        write_page(data, str(file))
        tab.session = None
        tab.open(file.as_uri())
        tab.wait(READY)
        return tab

    yield show
    assert tab.errors == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:"))] == []


def page_of(trace):
    """Return the data of a page of one trace."""
    return trace_page(trace.header, trace.footer, trace.envelopes)


def page_of_both(first, second):
    """Return the data of a page of two traces."""
    return comparison_page(
        differ(first, second), (first.envelopes, second.envelopes), (first.footer, second.footer)
    )
