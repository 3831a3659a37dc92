"""Run collected tests phase by phase, as pytest's own loop does.

A single plain test may be set up once for all trials.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import Any, Literal, TypeAlias

import pytest

_Phase: TypeAlias = Literal["setup", "call", "teardown"]
_PHASES: tuple[_Phase, ...] = ("setup", "call", "teardown")

_PHASE_HOOKS = (
    "pytest_runtest_call",
    "pytest_pyfunc_call",
    "pytest_runtest_setup",
    "pytest_fixture_setup",
    "pytest_runtest_teardown",
    "pytest_fixture_post_finalizer",
)
"""The hooks by which plugins act before, after and around a test."""

_HARMLESS = frozenset(
    {
        *("_pytest", "pytest", "autochron"),
        # They handle coroutines, `@given`, coverage contexts and time-outs; the checkpoint notices the timer of a time-out.
        *("anyio", "pytest_asyncio", "_hypothesis_pytestplugin", "pytest_cov", "pytest_timeout"),
    }
)
"""Packages whose hooks do nothing for a plain function, or nothing that the checkpoint doesn't notice."""

_FOR_MARKED = {"langsmith": "langsmith"}
"""Packages whose hooks do nothing for a test without a marker, with its name. LangChain brings langsmith along."""


class PhaseRunner:
    """Runs the collected tests, as often as it is called.

    Attributes:
        is_set_up: whether the test was set up once for all trials.
    """

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self._items = items
        self.is_set_up = False

    def run(self) -> BaseException | None:
        """Run the tests up to the first that fails, and return what that one raised."""
        for item in self._items:
            is_skipped = False
            # A plain test has no teardown of its own either.
            for when in ("call",) if self.is_set_up else _PHASES:
                if is_skipped and when == "call":
                    continue
                error = _phase(item, when, reports=not self.is_set_up)
                # A skipped test does not fail a run of pytest.
                is_skipped = isinstance(error, pytest.skip.Exception)
                if error is not None and not is_skipped:
                    return error
        return None

    def set_up(self) -> None:
        """Set up a test once for all trials, if it is the only one and only pytest and autochron act around it."""
        if self.obstacle():
            return
        self.is_set_up = True
        if _phase(self._items[0], "setup", reports=False) is not None:
            self.take_down()  # each trial sets it up itself, and reports the failure

    def obstacle(self) -> str:
        """Return why the test is not set up once for all trials; empty if it may be."""
        if len(self._items) != 1:
            return f"there are {len(self._items)} tests"
        return _obstacle(self._items[0])

    def take_down(self) -> None:
        """Undo `set_up`, so that each trial sets up the test itself."""
        if self.is_set_up:
            self.is_set_up = False
            _phase(self._items[0], "teardown", reports=False)


def _phase(item: pytest.Item, when: _Phase, *, reports: bool) -> BaseException | None:
    """Run one phase of a test through the plugins' hooks, and return what that raised.

    Args:
        item: the test.
        when: the phase.
        reports: whether reports are made as well: fixtures such as `tmp_path` read the test's outcome there.
    """
    hook = getattr(item.ihook, f"pytest_runtest_{when}")
    options: dict[str, Any] = {"nextitem": None} if when == "teardown" else {}
    call_info = pytest.CallInfo.from_call(lambda: hook(item=item, **options), when=when)
    if reports:
        item.ihook.pytest_runtest_makereport(item=item, call=call_info)
    return call_info.excinfo.value if call_info.excinfo is not None else None


def _obstacle(item: pytest.Item) -> str:
    """Return what acts around a test beside pytest and autochron: a fixture, a hook of another package; empty if nothing."""
    fixtures = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", None)
    function = getattr(item, "obj", None)
    if (
        fixtures is None
        or getattr(item, "cls", None) is not None
        or getattr(function, "is_hypothesis_test", False)
        or not isinstance(function, FunctionType)
        or inspect.iscoroutinefunction(function)
    ):
        return "the test is no plain function"
    hook_modules = [
        _module_of(implementation.plugin)
        for name in _PHASE_HOOKS
        for implementation in getattr(item.ihook, name).get_hookimpls()
    ]
    acting = [
        *(
            f"the fixture `{name}`"
            for name, definitions in fixtures.items()
            if not all(_is_harmless(definition.func.__module__, item) for definition in definitions)
        ),
        *(f"a hook of {module}" for module in hook_modules if not _is_harmless(module, item)),
    ]
    return f"{acting[0]} acts around the test" if acting else ""


def _is_harmless(module: str, item: pytest.Item) -> bool:
    """Return whether fixtures and hooks of a module do nothing that matters for a test."""
    package = module.partition(".")[0]
    return package in _HARMLESS or (
        package in _FOR_MARKED and item.get_closest_marker(_FOR_MARKED[package]) is None
    )


def _module_of(plugin: object) -> str:
    return plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
