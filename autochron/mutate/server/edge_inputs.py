"""Other inputs for a mutant, in the place where the agent calls the tool: inside the replay, with its state and clock.

At each call of the target a fork gives it one input after the other, and compares with what the fix gives there. What
differs is tried once more in a fork of its own, since what one call leaves behind may have changed the next.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from signal import Signals
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import json

from autochron.json_differences import differences_between, pair_equal_lengths
from autochron.mutate.boundary_values import (
    Candidate,
    Constant,
    Constants,
    called_with,
    candidates,
    constants_of,
    copied,
)
from autochron.mutate.model import Input
from autochron.mutate.protocol import Knows, ServerTask, TrialReply
from autochron.mutate.server.outcomes import of_call
from autochron.workers.fork import ForkEnd, forked
from autochron.workers.limits import Limits

if TYPE_CHECKING:
    from types import FunctionType

CALLS = 4
"""At so many calls of a target, the first ones, other inputs are tried."""

_CONFIRMED = 16
"""So many inputs that tell a mutant from the fix are confirmed, of each call."""

_SECONDS = 2.0
"""What one input may take."""

_EACH = 0.02
"""What one input may take where many are tried one after the other, beside the seconds of one."""

_ENDS = 4
"""So many inputs of one call may end the process, or take too long; what comes after them is not tried."""

_TYPES: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "Decimal": Decimal, "str": str}

_PLACE = re.compile(r" at 0x[0-9a-f]+(?=>)")
"""Where an object lies in memory, which is chance."""

_exploring = [False]
"""Whether this is a fork that has been given another input: what it calls gets none."""

_VOLATILE = "(differs from run to run)"


def longest(most: int) -> float:
    """Return the seconds that all inputs of a mutant may take: after one that is late it gets no others."""
    return CALLS * (most * _EACH + 3 * _SECONDS)


class Fix:
    """What the fix gave: for each input alone, for all of a call in a row, and where two runs of it differ."""

    def __init__(self, outcomes: Mapping[str, str]) -> None:
        self.alone = outcomes
        self.in_row: dict[str, list[str]] = {}
        self.volatile: dict[str, frozenset[str]] = {}
        for key, value in outcomes.items():
            kind, _, call = key.partition(" ")
            if kind == "row":
                self.in_row[call] = json.decode(value, type=list[str])
            elif kind == "volatile":
                self.volatile[call] = frozenset(json.decode(value, type=list[str]))


def _settled(outcome: str, volatile: frozenset[str]) -> str:
    """Return an outcome without what differs from run to run."""
    return json.encode(_without(json.decode(outcome), volatile, "")).decode() if volatile else outcome


def _without(tree: Any, volatile: frozenset[str], path: str) -> Any:
    if path in volatile:
        return _VOLATILE
    if isinstance(tree, dict):
        return {key: _without(each, volatile, f"{path}.{key}" if path else key) for key, each in tree.items()}
    if isinstance(tree, list):
        return [_without(each, volatile, f"{path}[{at}]") for at, each in enumerate(tree)]
    return tree


def _nothing(ended: ForkEnd) -> str:
    """Say of an input that nothing came back, and why."""
    why = f"its process ended with status {ended.status}"
    if ended.is_late:
        why = "it was not done in time"
    elif ended.signal:
        why = f"killed by {Signals(ended.signal).name}"
    return json.encode({"raised": f"nothing: {why}"}).decode()


_LATE = _nothing(ForkEnd(b"", is_late=True))


class Widening:
    """The other inputs of one incident."""

    def __init__(
        self, functions: Sequence[FunctionType], texts: Mapping[str, str], asked: ServerTask
    ) -> None:
        """Take the functions that are mutated, the text of each one's file, and how many inputs are wanted."""
        self._constants = {
            each.__code__.co_qualname: constants_of(
                texts[each.__code__.co_filename],
                each.__code__.co_filename.rpartition("/")[2],
                each.__code__.co_qualname,
                each.__globals__,
            )
            for each in functions
        }
        self._asked = asked
        self._limits = Limits(_SECONDS, asked.memory)
        self._fix: Fix | None = None

    def know(self, fix: TrialReply | None) -> None:
        """Take in what the fix gave: mutants are compared with that, and get the inputs that its constants make."""
        if fix is None:
            return
        for name, found in fix.knows.items():
            known = [Constant(_TYPES[kind](text), source) for kind, text, source in found]
            self._constants[name] = Constants(
                tuple(each for each in known if not isinstance(each.value, str)),
                tuple(each for each in known if isinstance(each.value, str)),
            )
        self._fix = Fix(fix.outcomes)

    def knows(self) -> Knows:
        """Return the constants of each function, as they go through a pipe."""
        return {
            name: [
                (type(each.value).__name__, str(each.value), each.source)
                for each in (*found.numbers, *found.texts)
            ]
            for name, found in self._constants.items()
        }

    def explorer(self, function: Callable[..., Any], name: str, where: str) -> Explorer:
        """Return what stands in a function's place in one trial; its calls are told by the name, and of which test."""
        inner = inspect.unwrap(function)
        constants = self._constants.get(inner.__code__.co_qualname, Constants((), ()))
        return Explorer(function, (name, where), constants, self._asked, self._limits, self._fix)


class Explorer:
    """One function in one trial: it is called as ever, and before that with other inputs, in forks."""

    def __init__(
        self,
        function: Callable[..., Any],
        called: tuple[str, str],
        constants: Constants,
        asked: ServerTask,
        limits: Limits,
        fix: Fix | None,
    ) -> None:
        self._function = function
        self._signature = inspect.signature(function)
        self._called = called
        self._constants = constants
        self._asked = asked
        self._limits = limits
        self._fix = fix
        self._calls = 0
        self.inputs: list[Input] = []
        self.outcomes: dict[str, str] = {}

    def callable(self) -> Callable[..., Any]:
        """Return what is called in the function's place."""
        function = self._function
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def waited(*args: Any, **kwargs: Any) -> Any:
                self._explore(args, kwargs)
                return await function(*args, **kwargs)

            return waited

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            self._explore(args, kwargs)
            return function(*args, **kwargs)

        return called

    def _explore(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._calls >= CALLS or _exploring[0]:
            return
        self._calls += 1
        try:
            arguments = dict(self._signature.bind(*args, **kwargs).arguments)
        except TypeError:  # the call below says so
            return
        name, where = self._called
        call = f"{name}[{self._calls}]{where}"
        tried = candidates(arguments, self._constants, self._asked.inputs)
        if self._asked.drawn:
            from autochron.mutate.hypothesis_inputs import (
                drawn,
            )  # lazy: hypothesis takes a while, and is rarely asked

            tried += drawn(tried, self._asked.drawn)
        if self._fix is None:
            self._learn(call, tried)
        else:
            self._compare(call, tried, self._fix)

    def _learn(self, call: str, tried: Sequence[Candidate]) -> None:
        """Note what the fix gives for each input, twice: what differs then tells nothing of a mutant."""
        row = self._row(tried)
        if row[0] == _LATE:  # it waits for another task: then no other input comes out here, either
            row = []
        first = [self._alone(each) for each in tried[: len(row)]]
        second = [self._alone(each) for each in tried[: len(row)]]
        volatile = frozenset(
            place.indexed
            for one, other in zip(first, second, strict=True)
            for place in differences_between(json.decode(one), json.decode(other), pair=pair_equal_lengths)
        )
        self.outcomes[f"volatile {call}"] = json.encode(sorted(volatile)).decode()
        # Where one call changes what the next gives, a row hides what each would tell: mutants are tried input by input.
        told = [_settled(each, volatile) for each in row]
        is_apart = told != [_settled(each, volatile) for each in first]
        self.outcomes[f"row {call}"] = json.encode([] if is_apart else told).decode()
        for number, outcome in enumerate(first):
            self.inputs.append(_told(number, call, tried[number]))
            self.outcomes[f"{call}.{number}"] = _settled(outcome, volatile)

    def _compare(self, call: str, tried: Sequence[Candidate], fix: Fix) -> None:
        """Note what a mutant gives otherwise than the fix."""
        expected = fix.in_row.get(call, [])
        volatile = fix.volatile.get(call, frozenset())
        row = [_settled(each, volatile) for each in self._row(tried[: len(expected)])] if expected else []
        unlike: Iterable[int] = (
            number for number, (one, other) in enumerate(zip(row, expected, strict=False)) if one != other
        )
        if not expected:
            unlike = (number for number in range(len(tried)) if f"{call}.{number}" in fix.alone)
        found = 0
        for number in unlike:
            outcome = _settled(self._alone(tried[number]), volatile)
            if outcome != fix.alone[f"{call}.{number}"]:
                self.outcomes[f"{call}.{number}"] = outcome
                found += 1
            if found == _CONFIRMED or outcome == _LATE:
                break

    def _row(self, tried: Sequence[Candidate]) -> list[str]:
        """Return what each input gives, one after the other in one fork; after one that ends it, in another."""
        found: list[str] = []
        for _ in range(_ENDS):
            found += self._in_row(tried[len(found) :])
            if len(found) == len(tried) or (self._fix is not None and found[-1] == _LATE):
                break
        return found

    def _in_row(self, tried: Sequence[Candidate]) -> list[str]:
        """Return what each gives, up to the first from which nothing comes."""
        limits = self._limits._replace(seconds=self._limits.seconds + _EACH * len(tried))

        def work(tell: Callable[[bytes], None]) -> bytes:
            for each in tried:
                tell(json.encode(self._outcome(each)) + b"\n")
            return b""

        ended = forked(work, limits, apart=False)
        found = [json.decode(line, type=str) for line in ended.said.split(b"\n")[:-1]]
        return found if ended.is_whole else [*found, _nothing(ended)]

    def _alone(self, each: Candidate) -> str:
        ended = forked(lambda _: self._outcome(each).encode(), self._limits, apart=False)
        return ended.said.decode() if ended.is_whole else _nothing(ended)

    def _outcome(self, each: Candidate) -> str:
        """Call the function with an input of its own; in a fork."""
        _exploring[0] = True
        arguments = copied(each.arguments)
        before = repr(arguments)
        call = called_with(self._signature, arguments)
        try:
            value = self._function(*call.args, **call.kwargs)
            if inspect.isawaitable(value):
                asyncio._set_running_loop(None)  # noqa: SLF001 - that of the process which was forked
                value = asyncio.run(_awaited(value))
            if inspect.isgenerator(value):
                value = list(value)
        except BaseException as error:
            return of_call(None, error)
        return of_call(value, None, arguments if repr(arguments) != before else None)


async def _awaited(value: Any) -> Any:
    return await value


def _told(number: int, call: str, each: Candidate) -> Input:
    return Input(
        number=number,
        address=call,
        argument=each.argument,
        value="" if not each.argument else _short(each.value),
        source=each.source,
        arguments=_short(each.arguments, 2000),
    )


def _short(value: Any, most: int = 200) -> str:
    text = _PLACE.sub("", repr(value))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def widened(reply: TrialReply, explorers: Sequence[Explorer], knows: Knows) -> TrialReply:
    """Put what was found into a reply."""
    outcomes: dict[str, str] = {}
    inputs: list[Input] = []
    for each in explorers:
        outcomes |= each.outcomes
        inputs += each.inputs
    return msgspec.structs.replace(
        reply, outcomes=outcomes, inputs=tuple(inputs), knows=knows if inputs else {}
    )
