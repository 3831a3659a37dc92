"""The tests that replay a trace: what their marker asks for, changed for a trial, and the replay that each makes."""

from __future__ import annotations

from typing import Any

import pytest

from autochron._runtime.unpatched import os
from autochron.pytest_plugin import MARKER, PREPARED
from autochron.pytest_plugin.marks import marker_options
from autochron.pytest_plugin.sessions import ReplayedTest, prepare_session


def mark(item: pytest.Item, **options: Any) -> None:
    """Have a test ask for something else of its trace."""
    marker = item.get_closest_marker(MARKER)
    assert marker is not None  # noqa: S101 - others are not collected
    if PREPARED in item.stash:
        del item.stash[PREPARED]
    marked = getattr(pytest.mark, MARKER)
    item.add_marker(marked(*marker.args, **(dict(marker.kwargs) | options)), append=False)


def replayer_of(item: pytest.Item) -> ReplayedTest:
    """Weave for a test, as it will before it runs."""
    marker = item.get_closest_marker(MARKER)
    assert marker is not None  # noqa: S101 - others are not collected
    several = getattr(item, "callspec", None)
    trace = several.params.get("_autochron_trace") if several is not None else None
    play = prepare_session(marker_options(marker, item, trace), "replay", item)
    assert isinstance(play, ReplayedTest)  # noqa: S101 - it is what the mode gives
    return play


def swaps_of(play: ReplayedTest) -> dict[str, str]:
    """Return what a test swaps by name, with whole paths."""

    def whole(name: str) -> str:
        module, _, qualname = name.rpartition(":")
        return f"{os.path.join(play.root, module)}:{qualname}" if module.endswith(".py") else name

    return {whole(old): whole(new) for old, new in (play.options.swap or {}).items() if isinstance(new, str)}
