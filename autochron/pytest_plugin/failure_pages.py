"""Pages of tests that failed, for `pytest --autochron-html FOLDER`."""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING

from autochron.errors import AutochronError
from autochron.session.replay_context import replay
from autochron.viewing.page import write_page
from autochron.viewing.page_data import trace_page
from autochron.viewing.side_by_side import replay_page

if TYPE_CHECKING:
    import pytest

    from autochron.pytest_plugin.sessions import TestSession
    from autochron.viewing.page_data import PageData

_LONGEST = 120
"""Characters of a page's name, which is made of the test's name."""


def write_failure_page(session: TestSession, nodeid: str, report: pytest.TestReport, folder: str) -> str:
    """Write the page of a test that failed.

    Args:
        session: its replay or its recording.
        nodeid: the test.
        report: pytest's report of it.
        folder: where the page is written.

    Returns:
        A line that says where it is, or why there is none.
    """
    path = os.path.join(folder, f"{page_name(nodeid)}.html")
    try:
        data = _page_data(session, nodeid, report)
        if data is None:
            return "there is no page: the replay did not begin"
        write_page(data, path)
    except AutochronError as error:
        return f"there is no page: {error}"
    return f"{path}"


def page_name(nodeid: str) -> str:
    """Return a file name for a test, which no other test has, and which every file system takes."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", nodeid).strip("-.")
    digest = hashlib.sha256(nodeid.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[-_LONGEST:]}-{digest}"


def _page_data(session: TestSession, nodeid: str, report: pytest.TestReport) -> PageData | None:
    handle = session.handle
    if not handle.has_begun:
        return None
    if not isinstance(handle, replay):
        trace = handle.trace()
        data = trace_page(trace.header, trace.footer, trace.envelopes)
        data.title = nodeid
        return data
    record = handle.record
    return replay_page(
        record.header,
        record.footer,
        record,
        [crossing.replayed for crossing in handle.crossings],
        handle.divergences,
        title=nodeid,
        verdict=_failure_line(report),
        is_same=False,
    )


def _failure_line(report: pytest.TestReport) -> str:
    """Return the first line of what made the test fail."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr or "")
    return text.strip().partition("\n")[0] or "the test failed"
