"""Collected tests run phase by phase, as by the loop of pytest; one that is alone may be set up once for all trials."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import Any, Literal, TypeAlias

import pytest

_Phase: TypeAlias = Literal["setup", "call", "teardown"]
_PHASES: tuple[_Phase, ...] = ("setup", "call", "teardown")

_AROUND = (
    "pytest_runtest_call",
    "pytest_pyfunc_call",
    "pytest_runtest_setup",
    "pytest_fixture_setup",
    "pytest_runtest_teardown",
    "pytest_fixture_post_finalizer",
)
"""The hooks by which plugins do something before and after a test, and around it."""

_QUIET = frozenset(
    {
        *("_pytest", "pytest", "autochron"),
        # These look for coroutines, `@given`, contexts, and a time-out of the function's own, which is a timer.
        *("anyio", "pytest_asyncio", "_hypothesis_pytestplugin", "pytest_cov", "pytest_timeout"),
    }
)
"""Packages that do nothing there for a plain function, or nothing that the cut doesn't notice."""


class PhaseRunner:
    """Runs the collected tests, as often as it is told to.

    Attributes:
        is_set_up: whether the test was set up before there were trials.
    """

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self._items = items
        self.is_set_up = False

    def run(self) -> BaseException | None:
        """Run the tests, up to the first that fails; gives what it raised."""
        for item in self._items:
            is_skipped = False
            # What is set up without any code of theirs is taken down without any, too.
            for when in ("call",) if self.is_set_up else _PHASES:
                if is_skipped and when == "call":
                    continue
                error = _phase(item, when, reports=not self.is_set_up)
                # One that is skipped fails no run of pytest.
                is_skipped = isinstance(error, pytest.skip.Exception)
                if error is not None and not is_skipped:
                    return error
        return None

    def set_up(self) -> None:
        """Set up, once for all trials, a test that is alone and for whose sake nothing but pytest and we do anything then."""
        if len(self._items) != 1 or not _is_plain(self._items[0]):
            return
        self.is_set_up = True
        if _phase(self._items[0], "setup", reports=False) is not None:
            self.take_down()  # then each trial will say so

    def take_down(self) -> None:
        """Have tests set up in the trial."""
        if self.is_set_up:
            self.is_set_up = False
            _phase(self._items[0], "teardown", reports=False)


def _phase(item: pytest.Item, when: _Phase, *, reports: bool) -> BaseException | None:
    """Have the plugins do one part of what running a test is; gives what that raised.

    With `reports` they are told of it as well: fixtures such as `tmp_path` ask how the test went.
    """
    hook = getattr(item.ihook, f"pytest_runtest_{when}")
    options: dict[str, Any] = {"nextitem": None} if when == "teardown" else {}
    called = pytest.CallInfo.from_call(lambda: hook(item=item, **options), when=when)
    if reports:
        item.ihook.pytest_runtest_makereport(item=item, call=called)
    return called.excinfo.value if called.excinfo is not None else None


def _is_plain(item: pytest.Item) -> bool:
    """Return whether a test is set up without any code but pytest's and ours: no fixture of others, no hook of theirs."""
    fixtures = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", None)
    function = getattr(item, "obj", None)
    if (
        fixtures is None
        or getattr(item, "cls", None) is not None
        or getattr(function, "is_hypothesis_test", False)
    ):
        return False
    if not isinstance(function, FunctionType) or inspect.iscoroutinefunction(function):
        return False
    made = [each.func.__module__ for several in fixtures.values() for each in several]
    hooks = [
        _module_of(each.plugin) for when in _AROUND for each in getattr(item.ihook, when).get_hookimpls()
    ]
    return all(each.partition(".")[0] in _QUIET for each in (*made, *hooks))


def _module_of(plugin: object) -> str:
    return plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
