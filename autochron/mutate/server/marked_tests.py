"""The tests that replay a trace: their markers, changed for a trial, and their replays."""

from __future__ import annotations

from typing import Any

import pytest

from autochron.mutate.protocol import ServerKind
from autochron.pytest_plugin import MARKER, PREPARED
from autochron.pytest_plugin.marks import Part, marker_options
from autochron.pytest_plugin.sessions import ReplayedTest, prepare_session


def part_of(item: pytest.Item) -> Part | None:
    """Return which part of an incident's test a test is; None for a test that replays no trace."""
    marker = item.get_closest_marker(MARKER)
    return None if marker is None else marker.kwargs.get("part", "incident")


def part_tried_by(server: ServerKind) -> Part | None:
    """Return the part of the test that a kind of server tries; None for tests that replay no trace."""
    if server == "twin" or server == "edges":  # noqa: PLR1714 - mypy narrows no tuple
        return server
    return None if server == "mocks" else "incident"


def change_marker(item: pytest.Item, **options: Any) -> None:
    """Replace some options of a test's marker, and drop what was prepared for it."""
    marker = item.get_closest_marker(MARKER)
    assert marker is not None  # noqa: S101 - tests without one are not collected
    if PREPARED in item.stash:
        del item.stash[PREPARED]
    marked = getattr(pytest.mark, MARKER)
    item.add_marker(marked(*marker.args, **(dict(marker.kwargs) | options)), append=False)


def replayed_test_of(item: pytest.Item) -> ReplayedTest:
    """Return the replay of a test as its marker describes it, and weave for it."""
    marker = item.get_closest_marker(MARKER)
    assert marker is not None  # noqa: S101 - tests without one are not collected
    parameters = getattr(item, "callspec", None)
    trace = parameters.params.get("_autochron_trace") if parameters is not None else None
    test = prepare_session(marker_options(marker, item, trace), "replay", item)
    assert isinstance(test, ReplayedTest)  # noqa: S101 - the mode is `replay`
    return test
