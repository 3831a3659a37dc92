"""Other inputs for a mutant, in the place where the agent calls the tool: inside the replay, with its state and clock.

At each call of the target a fork gives it one input after the other, and compares with what the fix gives there. What
differs is tried once more in a fork of its own, since what one call leaves behind may have changed the next.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import json

from autochron.mutate.forking import Limits, forked
from autochron.mutate.inputs import (
    Candidate,
    Constant,
    Constants,
    called_with,
    candidates,
    constants_of,
    copied,
)
from autochron.mutate.model import Input
from autochron.mutate.protocol import Asked, Knows, Reply
from autochron.pytest_plugin.outcomes import of_call

if TYPE_CHECKING:
    from types import FunctionType

CALLS = 4
"""At so many calls of a target, the first ones, other inputs are tried."""

_CONFIRMED = 16
"""So many inputs that tell a mutant from the fix are confirmed, of each call."""

_SECONDS = 2.0
"""What one input may take."""

_LATE = json.encode({"raised": "nothing: it was not done in time"}).decode()


class Widening:
    """The other inputs of one incident."""

    def __init__(self, functions: Sequence[FunctionType], texts: Mapping[str, str], asked: Asked) -> None:
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
        self._known: dict[str, str] = {}
        self._in_row: dict[str, list[str]] = {}

    def know(self, fix: Reply | None) -> None:
        """Take in what the fix gave: mutants are compared with that, and get the inputs that its constants make."""
        if fix is None:
            return
        for name, (numbers, texts) in fix.knows.items():
            self._constants[name] = Constants(
                tuple(Constant(*each) for each in numbers), tuple(Constant(*each) for each in texts)
            )
        self._known = {key: value for key, value in fix.outcomes.items() if not key.startswith("row ")}
        self._in_row = {
            key.removeprefix("row "): json.decode(value, type=list[str])
            for key, value in fix.outcomes.items()
            if key.startswith("row ")
        }

    def knows(self) -> Knows:
        """Give the constants of each function, as they go through a pipe."""
        return {
            name: (
                [(each.value, each.source) for each in found.numbers if type(each.value) in {int, float}],
                [(str(each.value), each.source) for each in found.texts],
            )
            for name, found in self._constants.items()
        }

    def explorer(self, function: Callable[..., Any]) -> Explorer:
        """Give what stands in a function's place in one trial."""
        inner = inspect.unwrap(function)
        constants = self._constants.get(inner.__code__.co_qualname, Constants((), ()))
        return Explorer(function, constants, self._asked, self._limits, self._known, self._in_row)


class Explorer:
    """One function in one trial: it is called as ever, and before that with other inputs, in forks."""

    def __init__(
        self,
        function: Callable[..., Any],
        constants: Constants,
        asked: Asked,
        limits: Limits,
        known: Mapping[str, str],
        in_row: Mapping[str, list[str]],
    ) -> None:
        self._function = function
        self._signature = inspect.signature(function)
        self._constants = constants
        self._asked = asked
        self._limits = limits
        self._known = known
        self._in_row = in_row
        self._calls = 0
        self.inputs: list[Input] = []
        self.outcomes: dict[str, str] = {}

    def callable(self) -> Callable[..., Any]:
        """Give what is called in the function's place."""
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
        if self._calls >= CALLS:
            return
        self._calls += 1
        try:
            arguments = dict(self._signature.bind(*args, **kwargs).arguments)
        except TypeError:  # the call below says so
            return
        call = f"{getattr(self._function, '__name__', 'call')}[{self._calls}]"
        tried = candidates(arguments, self._constants, self._asked.inputs)
        if self._asked.drawn:
            from autochron.mutate.drawing import drawn  # lazy: hypothesis takes a while, and is rarely asked

            tried += drawn(tried, self._asked.drawn)
        if not self._known:
            row = self._row(tried)
            self.outcomes[f"row {call}"] = json.encode(row).decode()
            # What the recorded input does not come out of here (it waits for another task), none does.
            for number in range(len(row) if row[0] != _LATE else 0):
                self.inputs.append(_told(number, call, tried[number]))
                self.outcomes[f"{call}.{number}"] = self._alone(tried[number])
            return
        expected = self._in_row.get(call, [_LATE])
        if expected[0] == _LATE:
            return
        row = self._row(tried[: len(expected)])
        differing = [
            number for number, (one, other) in enumerate(zip(row, expected, strict=False)) if one != other
        ]
        for number in differing[:_CONFIRMED]:
            outcome = self._alone(tried[number])
            if outcome != self._known.get(f"{call}.{number}"):
                self.outcomes[f"{call}.{number}"] = outcome

    def _row(self, tried: Sequence[Candidate]) -> list[str]:
        """Give what each input gives, one after the other in one fork; up to the first that is late."""
        found: list[str] = []
        limits = self._limits._replace(seconds=self._limits.seconds + 0.02 * len(tried))

        def work(tell: Callable[[bytes], None]) -> bytes:
            for each in tried:
                tell(json.encode(self._outcome(each)) + b"\n")
            return b""

        ended = forked(work, limits, apart=False)
        found = [json.decode(line, type=str) for line in ended.said.split(b"\n")[:-1]]
        return found if ended.is_whole else [*found, _LATE]

    def _alone(self, each: Candidate) -> str:
        ended = forked(lambda _: self._outcome(each).encode(), self._limits, apart=False)
        return ended.said.decode() if ended.is_whole else _LATE

    def _outcome(self, each: Candidate) -> str:
        """Call the function with an input of its own; in a fork."""
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
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def widened(reply: Reply, explorers: Sequence[Explorer], knows: Knows) -> Reply:
    """Put what was found into a reply."""
    outcomes: dict[str, str] = {}
    inputs: list[Input] = []
    for each in explorers:
        outcomes |= each.outcomes
        inputs += each.inputs
    return msgspec.structs.replace(
        reply, outcomes=outcomes, inputs=tuple(inputs), knows=knows if inputs else {}
    )
