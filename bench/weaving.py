"""What weaving alone costs: a function with no handler in force, and with one that only passes through."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from autochron.matching.calls import call_sites
from autochron.matching.sites import call_rule
from autochron.model import BoundaryRule, CallSelector, Place
from autochron.ports import WovenHandler
from autochron.weaving import assembly, gate, portable
from autochron.weaving.binding import bind_calls, bindings_of
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Mark, weave_function
from bench.measure import Figure, Size, medians, over, turn_about

IDLE = 40.0
PASSING = 200.0
ELSEWHERE = 100.0

_SITES = """
def calls(receiver, count):
    for _ in range(count):
        receiver.sell(1)
"""


class _Other:
    """A class that lasts as a program's do: what is known of it is kept."""

    def sell(self, number: int) -> int:
        """Return the number."""
        return number


class _Through:
    """A token of nothing."""

    __slots__ = ()

    def returned(self, value: Any) -> Any:
        return value

    def raised(self, error: BaseException) -> None:
        """Nothing."""

    def yielded(self, item: Any) -> None:
        """Nothing."""

    def resumed(self, sent: object = None, thrown: BaseException | None = None) -> None:
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

    times = turn_about({"plain": _sites(calls, bound=False), "bound": _sites(calls, bound=True)}, size.rounds)
    yield Figure(
        benchmark="weaving",
        name="a call site whose check at run time fails",
        value=over(times, "bound", "plain") / calls * 1e9,
        unit="ns",
        against="over the plain call; a handler is in force",
        target=ELSEWHERE,
        samples=medians(times),
    )

    codes = [
        constant
        for constant in compile(inspect.getsource(argparse), "argparse.py", "exec").co_consts
        if isinstance(constant, CodeType)
    ]
    functions = [each for code in codes for each in (code, *code.co_consts) if isinstance(each, CodeType)]
    times = turn_about(
        {"own": _built(functions, assembly), "portable": _built(functions, portable)}, size.rounds
    )
    yield Figure(
        benchmark="weaving",
        name="the portable assembler, a function of argparse",
        value=medians(times)["portable"] / len(functions) * 1e6,
        unit="µs",
        against=f"our own takes {medians(times)['own'] / len(functions) * 1e6:.0f} µs",
        samples=medians(times),
    )


def _built(functions: list[CodeType], assembler: Any) -> Callable[[], None]:
    """Take each function apart and put it together again."""

    def run() -> None:
        for code in functions:
            assembler.assemble(assembler.disassemble(code))

    return run


def _sites(calls: int, *, bound: bool) -> Callable[[], None]:
    """Make calls of a method that may be another class's, as far as the source tells."""
    code = compile(_SITES, "agent.py", "exec")
    rule = BoundaryRule(
        id="sell",
        name="sell",
        kind="tool",
        selector=CallSelector("json.JSONEncoder.sell(...)"),
        place=Place("", 1),
    )
    if bound:
        sites = call_sites(_SITES, "agent", [call_rule(rule)], is_package=False)
        bindings = bindings_of(sites, "agent", "agent.py")
        for binding in bindings:
            site_rule = binding.site.rules[0]
            site_rule.check = "json.JSONEncoder.encode"  # there is one, and it isn't this
        code = bind_calls(code, bindings, Ledger())
        assert [binding.bound for binding in bindings] == [1]
    space: dict[str, Any] = {}
    exec(code, space)
    receiver = _Other()

    def run() -> None:
        gate.switch_on(_Passing())
        try:
            space["calls"](receiver, calls)
        finally:
            gate.switch_off()

    return run


def _many(
    function: Callable[[Any, Any], Any], calls: int, handler: WovenHandler[gate.Point] | None = None
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
