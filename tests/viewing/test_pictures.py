"""Pictures of the page, as the documentation shows them: `AUTOCHRON_PICTURES=docs/pictures` writes them there."""

import os
import struct
from pathlib import Path

import pytest

from autochron.model import Trace
from autochron.store import open_store
from tests.cli.processes import ROOT, python, write
from tests.viewing.conftest import page_of, page_of_both
from tests.viewing.traces import HEADER, changed, crossing, small

pytestmark = pytest.mark.slow

REFUND = f"{ROOT}/incidents/refund"


def keep(tab, name, tmp_path):
    """Take a picture of what a tab shows, and return its width and height."""
    folder = os.environ.get("AUTOCHRON_PICTURES")
    file = (Path(ROOT, folder) if folder else tmp_path) / f"{name}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    tab.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
    tab.screenshot(file)
    picture = file.read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) > 20_000  # an empty page has 4,000 bytes
    return struct.unpack(">II", picture[16:24])


def refund_page():
    return page_of(open_store(f"{REFUND}/trace.jsonl").load("last"))


def test_a_small_agent(opened, tmp_path):
    tab = opened(refund_page())
    tab.js("viewer.open(0, 2)")
    assert keep(tab, "small-agent", tmp_path) == (1300, 813)


def test_a_small_agent_in_the_dark(opened, tmp_path):
    tab = opened(refund_page())
    tab.js("viewer.open(0, 2); viewer.switchTheme()")
    assert tab.js("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    keep(tab, "dark", tmp_path)


def test_10_000_crossings(opened, tmp_path):
    workers = [
        crossing(
            seq, ("search", "fetch", "summarise")[seq % 3], given={"page": seq}, result={"words": seq * 7 % 900}, nth=seq,
            lane=f"0/worker.{seq % 8 + 1}", started=seq * 900_000, duration=6_000_000 + seq * 7919 % 3_000_000,
        )
        for seq in range(1, 10_001)
    ]  # fmt: skip
    tab = opened(page_of(Trace(HEADER, tuple(workers), small().footer)))
    tab.js("viewer.open(0, 40)")
    tab.js("viewer.switchView()")
    tab.wait("viewer.timeline.width > 0")
    tab.js("viewer.timeline.zoom(0.01, viewer.side.columns.started[40])")
    keep(tab, "many-crossings", tmp_path)


def test_a_difference(opened, tmp_path):
    tab = opened(page_of_both(small(), changed()))
    assert tab.js("document.querySelectorAll('.tag.first').length") == 1
    keep(tab, "difference", tmp_path)


def test_a_test_that_failed(opened, running_browser, tmp_path):
    files = ("agent.py", "tools.py", "trace.jsonl", "autochron.toml")
    write(tmp_path, {name: Path(REFUND, name).read_bytes() for name in files})
    write(tmp_path, {"test_refund.py": TEST})
    done = python(
        tmp_path,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--autochron-html",
        "pages",
        "test_refund.py",
    )
    assert "1 failed" in done.text, done.text
    [page] = (tmp_path / "pages").iterdir()
    tab = running_browser
    tab.session = None
    tab.open(page.as_uri())
    tab.wait("document.readyState === 'complete' && !!window.viewer")
    assert "assert" in tab.js("document.getElementById('verdict').textContent")
    keep(tab, "failed-test", tmp_path)


TEST = """
import pytest
import tools

@pytest.mark.autochron("trace.jsonl", live="issue_refund[1]")
def test_the_refund_is_blocked(replay):
    replay.run()
    refund = replay["issue_refund[1]"].result
    assert getattr(refund, "amount_cents", 0) <= 3990
"""
