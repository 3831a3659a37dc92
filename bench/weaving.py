"""What weaving alone costs: a function with no handler in force, and with one that only passes through."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from autochron.ports import WovenHandler
from autochron.weaving import gate
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Mark, weave_function
from bench.measure import Figure, Size, medians, over, turn_about

IDLE = 40.0
PASSING = 200.0


class _Through:
    """A token of nothing."""

    __slots__ = ()

    def returned(self, value: Any) -> Any:
        return value

    def raised(self, error: BaseException) -> None:
        """Nothing."""

    def yielded(self, item: Any) -> None:
        """Nothing."""

    def resumed(self) -> None:
        """Nothing."""


_THROUGH = _Through()


class _Passing:
    """A handler that takes every call for a crossing, and does nothing."""

    __slots__ = ()

    def enter(self, point: Any, arguments: tuple[Any, ...]) -> Any:
        return _THROUGH


def _plain() -> Callable[[Any, Any], Any]:
    def function(first: Any, second: Any) -> Any:
        return first

    return function


def run(size: Size) -> Iterable[Figure]:
    """Measure a function of two arguments."""
    plain, woven = _plain(), _plain()
    assert weave_function(woven, Mark(()), Ledger()) is not None  # type: ignore[arg-type]
    calls = size.repeat * 1_000
    times = turn_about({"plain": _many(plain, calls), "idle": _many(woven, calls)}, size.rounds)
    yield Figure(
        benchmark="weaving",
        name="a woven function, nothing recorded",
        value=over(times, "idle", "plain") / calls * 1e9,
        unit="ns",
        against="over the plain call",
        target=IDLE,
        samples=medians(times),
    )
    times = turn_about(
        {"plain": _many(plain, calls), "passing": _many(woven, calls, _Passing())}, size.rounds
    )
    yield Figure(
        benchmark="weaving",
        name="a woven function, a handler that passes through",
        value=over(times, "passing", "plain") / calls * 1e9,
        unit="ns",
        against="over the plain call",
        target=PASSING,
        samples=medians(times),
    )


def _many(
    function: Callable[[Any, Any], Any], calls: int, handler: WovenHandler | None = None
) -> Callable[[], None]:
    def run() -> None:
        if handler is not None:
            gate.switch_on(handler)
        try:
            for _ in range(calls):
                function(None, None)
        finally:
            if handler is not None:
                gate.switch_off()

    return run
