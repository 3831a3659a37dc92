"""Small programs, one for each shape of code that weaving changes, which tell whether it works on an interpreter.

Each runs unwoven, woven and switched off, and woven and switched on. It has to give the same result each time, and in the
last case the expected events. `python -c "... probes.run(SHAPE)"` exits with 0 if that holds. An interpreter that can't run
what was woven may crash, so `probing` runs each in a process of its own.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import sys
import types
from collections.abc import AsyncIterator, Callable, Iterator
from types import CodeType
from typing import Any, cast

from autochron.matching.sites import CallSite, Position, Saved
from autochron.weaving import gate
from autochron.weaving.binding import Binding, bind_calls
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Mark, weave_code

_SYNC = """
def probed(number, *more, key=2, **others):
    try:
        with context() as held:
            if number > 2:
                return [held + item for item in more if item] or key
            for each in range(number):
                if each == 1:
                    raise KeyError(each)
            number += (lambda: number + key)()
    except KeyError as error:
        return error.args
    finally:
        log.append(number)
    return others

def run():
    return [probed(3, 1, 0, 5), probed(4), probed(0, key=7), probed(2), probed(1, a=1), attempt(probed, "x")]
"""
_GENERATOR = """
def inner(limit):
    got = yield limit
    return got

def probed(limit):
    try:
        for number in range(limit):
            got = yield number
            log.append(got)
        more = yield from inner(limit)
        log.append(more)
        yield [more, *(each for each in range(limit))]
    except ValueError as error:
        yield str(error)
    finally:
        log.append("end")
    return limit

def run():
    items = list(probed(2))
    stream = probed(2)
    items += [next(stream), stream.send("a"), stream.throw(ValueError("thrown")), attempt(next, stream)]
    stream = probed(3)
    items += [next(stream), stream.close(), attempt(next, stream), attempt(list, probed(None))]
    return items
"""
_COROUTINE = """
async def probed(number):
    async with acontext() as held:
        items = [item async for item in numbers(number)]
    try:
        await pause(number)
        return items, held
    except KeyError as error:
        return error.args
    finally:
        log.append(number)

async def everything():
    return [await probed(2), await probed(-1), await gathered(probed(1), probed(3))]

def run():
    return asyncio.run(everything())
"""
_ASYNC_GENERATOR = """
async def probed(limit):
    try:
        for number in range(limit):
            await pause(number)
            got = yield number
            log.append(got)
    except ValueError as error:
        yield str(error)
    finally:
        log.append("end")

async def everything():
    items = [item async for item in probed(3)]
    stream = probed(3)
    items += [await anext(stream), await stream.asend("a"), await stream.athrow(ValueError("thrown"))]
    await stream.aclose()
    stream = probed(2)
    items += [await anext(stream), await stream.aclose()]
    return items

def run():
    return asyncio.run(everything())
"""
_CALLS = """
class Thing:
    def method(self, number, *more, **others):
        return number, more, others
    @property
    def inner(self):
        return self

thing, table = Thing(), {}
def called(number, *more, **others):
    return number, more, others
table["key"] = called

def run(key="key", local=called):
    first = FORM
    try:
        return [first, *(FORM for _ in range(2)), [FORM for _ in range(2)]]
    finally:
        log.append(FORM)
"""
PROBES: dict[str, str] = {
    "sync": _SYNC,
    "generator": _GENERATOR,
    "coroutine": _COROUTINE,
    "async_generator": _ASYNC_GENERATOR,
    "name": _CALLS.replace("FORM", "called(1, *(2,), a=3)"),
    "attribute": _CALLS.replace("FORM", "thing.inner.method(1, a=len(table))"),
    "subscript": _CALLS.replace("FORM", "table[key](1, 2)"),
}
"""The text of each program, by shape: what a function returns, or what pushes the callee of a bound call."""


class _Token:
    """A token that notes what it is told, and changes nothing."""

    def __init__(self, events: list[str]) -> None:
        self._events = events
        events.append("begun")

    def returned(self, value: Any) -> Any:
        self._events.append("returned")
        return value

    def raised(self, error: BaseException) -> None:
        self._events.append(f"raised {type(error).__name__}")

    def yielded(self, item: Any) -> None:
        self._events.append(f"yielded {item!r}")

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        self._events.append(f"resumed {sent!r} {type(thrown).__name__}")


class _Handler:
    """A handler that notes what crosses, and changes nothing."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def enter(self, _point: gate.Point, arguments: tuple[Any, ...]) -> _Token:
        self.events.append(repr(arguments))
        return _Token(self.events)


class _Site:
    """What bound calls are given in place of a `CodeSite`: it notes each call, and calls the callee."""

    module, label, receiver = "probe", "probe", 0

    def __init__(self, events: list[str]) -> None:
        self._events = events

    def bind(self, callee: Any) -> Any:
        if not gate.is_on():
            return callee

        def called(*args: Any, **kwargs: Any) -> Any:
            self._events.append(f"called {args} {kwargs}")
            return callee(*args, **kwargs)

        return called

    def bind_saved(self, values: tuple[Any, ...]) -> Any:
        if gate.is_on():
            self._events.append(f"saved {len(values)} {values[0] == 'key'}")
        return self.bind(values[-1])

    bind_received = bind_saved


# --- what the programs use ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _context() -> Iterator[int]:
    yield 10


@contextlib.asynccontextmanager
async def _acontext() -> AsyncIterator[str]:
    await asyncio.sleep(0)
    yield "held"


async def _numbers(limit: int) -> AsyncIterator[int]:
    for number in range(limit):
        await asyncio.sleep(0)
        yield number


async def _pause(number: int) -> None:
    await asyncio.sleep(0)
    if number < 0:
        raise KeyError(number)


async def _gathered(*awaitables: Any) -> list[Any]:
    return list(await asyncio.gather(*awaitables))


def _attempt(function: Callable[..., Any], *args: Any) -> str:
    try:
        return repr(function(*args))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _namespace() -> dict[str, Any]:
    return {
        "__name__": "probed",
        "acontext": _acontext,
        "asyncio": asyncio,
        "attempt": _attempt,
        "context": _context,
        "gathered": _gathered,
        "log": [],
        "numbers": _numbers,
        "pause": _pause,
    }


# --- running --------------------------------------------------------------------------------------------------------


def fault_of(shape: str) -> str | None:
    """Run the probe of a shape, and return what is wrong; None if it holds.

    Raises:
        KeyError: there is no such shape.
    """
    source = PROBES[shape]
    code = compile(source, "<probe>", "exec", dont_inherit=True)
    expected = _run(code)
    handler = _Handler()
    ledger = Ledger()
    if shape in ("name", "attribute", "subscript"):
        bindings = _bindings(source, shape, handler.events)
        woven = bind_calls(code, bindings, ledger)
        if not all(binding.bound for binding in bindings):
            return f"its call isn't found: {ledger.unwoven}"
    else:
        places = {
            (each.co_qualname, each.co_firstlineno): Mark(())
            for each in code.co_consts
            if isinstance(each, CodeType) and each.co_name == "probed"
        }
        woven = weave_code(code, "probed", places, ledger)
        if ledger.unwoven:
            return ledger.unwoven[0].reason
    if (actual := _run(woven)) != expected:
        return f"switched off it gives {actual}, and not {expected}"
    gate.switch_on(cast("Any", handler))
    try:
        actual = _run(woven)
    finally:
        gate.switch_off()
    if actual != expected:
        return f"switched on it gives {actual}, and not {expected}"
    events = "; ".join(handler.events)
    return None if events == "; ".join([EVENTS[shape]] * _TIMES) else f"its events are {events}"


def _run(code: CodeType) -> str:
    """Run a program that has been compiled, and return its result and its log as text."""
    namespace = _namespace()
    exec(code, namespace)  # noqa: S102 - a text of ours
    results = [namespace["run"]() for _ in range(_TIMES)]
    return repr((results, namespace["log"]))


_TIMES = 3
"""How often each program runs: later runs use what the interpreter has specialized."""


def _bindings(source: str, form: str, events: list[str]) -> list[Binding]:
    """Return one binding for each call of the form."""
    bindings = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or (callee := ast.unparse(node.func)) not in _CALLEES:
            continue
        positions: tuple[Position, ...] = (_position(node.func),)
        saved = (Saved("key", "key", positions),) if form == "subscript" else ()
        site = CallSite(
            cast("Any", types.SimpleNamespace(name="probe", selector=callee)),
            "run",
            node.lineno,
            callee,
            cast("Any", form),
            positions,
            (_position(node),),
            saved=saved,
            check="probe" if form == "attribute" else None,
        )
        binding = Binding([site], "probe", "<probe>")
        binding.site = cast("Any", _Site(events))
        bindings.append(binding)
    return bindings


_CALLEES = ("called", "thing.inner.method", "table[key]")


def _position(node: ast.expr) -> Position:
    return cast("Position", (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset))


def run(shape: str) -> None:
    """Exit with 0 if the probe of a shape holds, else with 1 and what is wrong as the last line of the output."""
    fault = fault_of(shape)
    if fault is not None:
        sys.stdout.write(f"{fault}\n")
    sys.exit(fault is not None)


EVENTS: dict[str, str] = {
    "sync": (
        "(3, 2, (1, 0, 5), {}); begun; returned; (4, 2, (), {}); begun; returned; (0, 7, (), {}); begun; returned; "
        "(2, 2, (), {}); begun; returned; (1, 2, (), {'a': 1}); begun; returned; ('x', 2, (), {}); begun; raised "
        "TypeError"
    ),
    "generator": (
        "(2,); begun; yielded 0; resumed None NoneType; yielded 1; resumed None NoneType; yielded 2; resumed None "
        "NoneType; yielded [None, 0, 1]; resumed None NoneType; returned; (2,); begun; yielded 0; resumed 'a' "
        "NoneType; yielded 1; resumed None ValueError; yielded 'thrown'; resumed None NoneType; returned; (3,); "
        "begun; yielded 0; resumed None GeneratorExit; raised GeneratorExit; (None,); begun; raised TypeError"
    ),
    "coroutine": (
        "(2,); begun; returned; (-1,); begun; returned; (1,); begun; (3,); begun; returned; returned"
    ),
    "async_generator": (
        "(3,); begun; yielded 0; resumed None NoneType; yielded 1; resumed None NoneType; yielded 2; resumed None "
        "NoneType; returned; (3,); begun; yielded 0; resumed 'a' NoneType; yielded 1; resumed None ValueError; "
        "yielded 'thrown'; resumed None GeneratorExit; raised GeneratorExit; (2,); begun; yielded 0; resumed None "
        "GeneratorExit; raised GeneratorExit"
    ),
    "name": (
        "called (1, 2) {'a': 3}; called (1, 2) {'a': 3}; called (1, 2) {'a': 3}; called (1, 2) {'a': 3}; called "
        "(1, 2) {'a': 3}; called (1, 2) {'a': 3}"
    ),
    "attribute": (
        "saved 2 False; called (1,) {'a': 1}; saved 2 False; called (1,) {'a': 1}; saved 2 False; called (1,) "
        "{'a': 1}; saved 2 False; called (1,) {'a': 1}; saved 2 False; called (1,) {'a': 1}; saved 2 False; called "
        "(1,) {'a': 1}"
    ),
    "subscript": (
        "saved 2 True; called (1, 2) {}; saved 2 True; called (1, 2) {}; saved 2 True; called (1, 2) {}; saved 2 "
        "True; called (1, 2) {}; saved 2 True; called (1, 2) {}; saved 2 True; called (1, 2) {}"
    ),
}
"""What a handler is told by each program when it runs once, from Python 3.12 on."""
