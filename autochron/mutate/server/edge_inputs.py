"""Edge inputs: other inputs for a mutant, tried where the agent calls the tool.

This is inside the replay, with its state and clock. At each call of the target, a fork calls it with one input after
the other, and the outcomes are compared with those of the fix. An input with a different outcome is tried once more in
a fork of its own, because one call may leave something behind that changes the next.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from signal import Signals
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import json

from autochron._runtime import unpatched
from autochron.crossing.pausing import paused
from autochron.json_differences import differences_between, pair_equal_lengths
from autochron.mutate.boundary_values import (
    Candidate,
    called_with,
    candidates,
    copied,
)
from autochron.mutate.model import Input, MutationTarget
from autochron.mutate.protocol import Knows, ServerTask, TrialReply
from autochron.mutate.server.call_changes import CHANGES, CallChanges
from autochron.mutate.server.guard_constants import GuardConstants, Triple, held_while
from autochron.mutate.server.module_state import computed_globals, files_at_call, receiver_of, state_at_call
from autochron.mutate.server.outcomes import call_outcome
from autochron.workers.fork import Fork, ForkEnd, WritePart, fork_or_wait
from autochron.workers.limits import Limits

if TYPE_CHECKING:
    from types import FunctionType

MAX_CALLS = 4
"""At how many calls of a target, the first ones, edge inputs are tried."""

_MAX_CONFIRMED = 16
"""How many inputs of one call are kept that tell a mutant from the fix."""

_INPUT_LIMIT = 2.0
"""Seconds that one input may take."""

_SEQUENCE_SHARE = 0.02
"""Seconds that a sequence of inputs may take for each of them, beyond the limit of one input."""

_MAX_FORKS = 4
"""How many inputs of one call may end the process or take too long; inputs after that are not tried."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+(?=>)")
"""The memory address in the `repr` of an object, which differs from run to run."""

_is_exploring = [False]
"""Whether this is a fork that calls a target with an edge input: calls that it makes are not explored."""

_VOLATILE = "(differs from run to run)"


def seconds_for(count: int) -> float:
    """Return the seconds that the edge inputs of one trial may take at most.

    Args:
        count: how many inputs there are at each call. After one that is late, the others are not tried.
    """
    return MAX_CALLS * (count * _SEQUENCE_SHARE + 3 * _INPUT_LIMIT)


class FixOutcomes:
    """What the fix gives, as JSON by input.

    Attributes:
        by_input: the outcome of each input in a fork of its own, by `ADDRESS.NUMBER`.
        in_sequence: by the address of a call, the outcomes of its inputs in a sequence; empty where a sequence gives other
            outcomes.
        volatile: by the address of a call, the paths at which two runs of the fix differ.
    """

    def __init__(self, outcomes: Mapping[str, str]) -> None:
        self.by_input = outcomes
        self.in_sequence: dict[str, list[str]] = {}
        self.volatile: dict[str, frozenset[str]] = {}
        for key, value in outcomes.items():
            kind, _, call = key.partition(" ")
            if kind == "row":
                self.in_sequence[call] = json.decode(value, type=list[str])
            elif kind == "volatile":
                self.volatile[call] = frozenset(json.decode(value, type=list[str]))


def _without_volatile(outcome: str, volatile: frozenset[str]) -> str:
    """Return an outcome without the values that differ from run to run."""
    if not volatile:
        return outcome
    tree = _replace_volatile(json.decode(outcome), volatile, "")
    return json.encode(tree | {kind: _VOLATILE for kind in CHANGES if kind in volatile}).decode()


def _with_other_keys(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Return the kinds of changes of which two runs made some at different places: then chance names these."""
    return [kind for kind in CHANGES if first.get(kind, {}).keys() != second.get(kind, {}).keys()]


def _replace_volatile(tree: Any, volatile: frozenset[str], path: str) -> Any:
    if path in volatile:
        return _VOLATILE
    if isinstance(tree, dict):
        return {
            key: _replace_volatile(member, volatile, f"{path}.{key}" if path else key)
            for key, member in tree.items()
        }
    if isinstance(tree, list):
        return [_replace_volatile(member, volatile, f"{path}[{index}]") for index, member in enumerate(tree)]
    return tree


def _no_outcome(ended: ForkEnd) -> str:
    """Return the outcome of an input whose fork wrote none: the reason, as JSON."""
    reason = f"its process ended with status {ended.status}"
    if ended.is_late:
        reason = "it was not done in time"
    elif ended.signal:
        reason = f"killed by {Signals(ended.signal).name}"
    return json.encode({"raised": f"nothing: {reason}"}).decode()


_LATE = _no_outcome(ForkEnd(b"", is_late=True))


class EdgeInputs:
    """The edge inputs of one incident."""

    def __init__(self, functions: Sequence[FunctionType], task: ServerTask) -> None:
        """Read the constants of the functions.

        Args:
            functions: the functions that are mutated.
            task: the server's task, which says how many inputs are tried.
        """
        self._constants = GuardConstants(functions)
        self._task = task
        self._limits = Limits(_INPUT_LIMIT, task.memory)
        self._fix_outcomes: FixOutcomes | None = None
        if task.drawn:
            # Lazy: hypothesis is slow to import, and rarely used.
            from autochron.mutate.hypothesis_inputs import warm_up

            warm_up()

    def learn_from(self, fix: TrialReply | None) -> None:
        """Take over the constants and the outcomes of the fix.

        Mutants get inputs made of these constants, and are compared with these outcomes.
        """
        if fix is None:
            return
        self._constants.learn_from(fix.knows)
        self._fix_outcomes = FixOutcomes(fix.outcomes)

    def constants(self) -> Knows:
        """Return the constants of each function that was called, in the form in which a reply carries them."""
        return self._constants.known()

    def explorer(
        self, function: Callable[..., Any], target: MutationTarget, label: tuple[str, str], root: str
    ) -> Explorer:
        """Return the explorer of a function for one trial.

        Args:
            function: the function that the test swaps in.
            target: the target that it is.
            label: the name of the function in addresses of its calls, and what is appended to these addresses: it names the
                test where there are several.
            root: the folder of the project.
        """
        place = _CalledTarget(function, target, label, root)
        return Explorer(place, self._constants, self._task, self._limits, self._fix_outcomes)


class _CalledTarget(NamedTuple):
    """A target where the agent calls it.

    Attributes:
        function: the function to call.
        target: the target that it is.
        label: the function's name in addresses, and the suffix of these.
        root: the folder of the project.
    """

    function: Callable[..., Any]
    target: MutationTarget
    label: tuple[str, str]
    root: str


class Explorer:
    """Calls one function with edge inputs in one trial, in forks, before each call that the agent makes.

    Attributes:
        inputs: the inputs that were tried; only of the fix.
        outcomes: their outcomes as JSON, by `ADDRESS.NUMBER`; of a mutant only those that differ from the fix's.
        on_explored: is called after the inputs of each call.
    """

    def __init__(
        self,
        called: _CalledTarget,
        constants: GuardConstants,
        task: ServerTask,
        limits: Limits,
        fix: FixOutcomes | None,
    ) -> None:
        """Take the function and its constants.

        Args:
            called: the function to call.
            constants: what the inputs are made of.
            task: says how many inputs are tried.
            limits: what the call with one input may take.
            fix: what the fix gives; None where the fix itself is tried.
        """
        self._function, self._target, self._label, self._root = called
        self._signature = inspect.signature(self._function)
        self._constants = constants
        self._task = task
        self._limits = limits
        self._fix_outcomes = fix
        self._calls = 0
        self._changes: CallChanges | None = None
        self._state_at_start = (
            computed_globals(inspect.unwrap(self._function), task.folder) if fix is None else {}
        )
        self.on_explored: Callable[[], None] = lambda: None
        self.inputs: list[Input] = []
        self.outcomes: dict[str, str] = {}

    def callable(self) -> Callable[..., Any]:
        """Return the callable that the test gets in the function's place."""
        function = self._function
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def explore_and_await(*args: Any, **kwargs: Any) -> Any:
                self._explore(args, kwargs)
                return await function(*args, **kwargs)

            return explore_and_await

        @functools.wraps(function)
        def explore_and_call(*args: Any, **kwargs: Any) -> Any:
            self._explore(args, kwargs)
            return function(*args, **kwargs)

        return explore_and_call

    def _explore(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Try edge inputs before a call with these arguments."""
        if self._calls >= MAX_CALLS or _is_exploring[0]:
            return
        self._calls += 1
        try:
            arguments = dict(self._signature.bind(*args, **kwargs).arguments)
        except TypeError:  # the real call raises it as well
            return
        name, suffix = self._label
        with paused():
            self._changes = CallChanges(self._root)
        try:
            self._explore_at(f"{name}[{self._calls}]{suffix}", arguments)
        finally:
            self._changes.discard()
        self.on_explored()

    def _explore_at(self, address: str, arguments: dict[str, Any]) -> None:
        """Try edge inputs at the address of a call, which has these arguments."""
        receiver = next((arguments[each] for each in ("self", "cls") if each in arguments), None)
        constants = self._constants.at_call(
            inspect.unwrap(self._function), self._target.function, receiver, lambda: self._held(arguments)
        )
        inputs = candidates(arguments, constants, self._task.inputs)
        if self._task.drawn:
            with paused():  # what hypothesis asks of the machine is not the tool's
                # Lazy: hypothesis is slow to import, and rarely used.
                from autochron.mutate.hypothesis_inputs import drawn

                inputs += drawn(inputs, self._task.drawn)
        if self._fix_outcomes is None:
            state = state_at_call(inspect.unwrap(self._function), self._task.folder, self._state_at_start)
            self.outcomes[f"state {address}"] = json.encode(state).decode()
            files = files_at_call(self._root, self._task.folder)
            self.outcomes[f"files {address}"] = json.encode(files).decode()
            self._explore_fix(address, inputs)
        else:
            self._explore_mutant(address, inputs, self._fix_outcomes)

    def _held(self, arguments: dict[str, Any]) -> list[Triple]:
        """Return what the functions hold during a call with the recorded input; what a second call has not is chance."""
        recorded = Candidate("", None, "recorded", arguments)
        places = self._constants.places
        calls = []
        for _ in range(2):
            ended = _in_fork(lambda _: held_while(lambda: self._call_with(recorded), places), self._limits)
            calls.append(json.decode(ended.output, type=list[Triple]) if ended.is_whole else [])
        return [triple for triple in calls[0] if triple in calls[1]]

    def _explore_fix(self, address: str, inputs: Sequence[Candidate]) -> None:
        """Record what the fix gives for each input.

        Each input is tried twice. Values that differ between the two runs say nothing about a mutant.

        Args:
            address: that of the call.
            inputs: what is tried.
        """
        raw_sequence = self._sequence(inputs)
        # Then the function waits for another task, and no other input would end in time either.
        if raw_sequence[0] == _LATE:
            raw_sequence = []
        first = [self._outcome_in_fork(candidate) for candidate in inputs[: len(raw_sequence)]]
        second = [self._outcome_in_fork(candidate) for candidate in inputs[: len(raw_sequence)]]
        volatile: set[str] = set()
        for texts in zip(first, second, strict=True):
            outcome, repeated = map(json.decode, texts)
            places = differences_between(outcome, repeated, pair=pair_equal_lengths)
            volatile |= {*(place.indexed for place in places), *_with_other_keys(outcome, repeated)}
        self.outcomes[f"volatile {address}"] = json.encode(sorted(volatile)).decode()
        # Where one call changes the outcome of the next, a sequence shows nothing: mutants are tried input by input.
        masked = [_without_volatile(outcome, frozenset(volatile)) for outcome in first]
        sequence = [_without_volatile(outcome, frozenset(volatile)) for outcome in raw_sequence]
        depends_on_order = sequence != masked
        self.outcomes[f"row {address}"] = json.encode([] if depends_on_order else sequence).decode()
        for number, outcome in enumerate(masked):
            self.inputs.append(self._input_record(number, address, inputs[number]))
            self.outcomes[f"{address}.{number}"] = outcome

    def _input_record(self, number: int, address: str, candidate: Candidate) -> Input:
        receiver = receiver_of(candidate.arguments, self._task.folder)
        unwritten = "" if receiver is None else receiver.argument
        arguments = {name: value for name, value in candidate.arguments.items() if name != unwritten}
        return Input(
            number=number,
            address=address,
            target=self._target,
            argument=candidate.argument,
            value="" if not candidate.argument else _short_repr(candidate.value),
            source=candidate.source,
            arguments=_short_repr(arguments, 2000),
            receiver=receiver,
        )

    def _explore_mutant(self, address: str, inputs: Sequence[Candidate], fix: FixOutcomes) -> None:
        """Record the outcomes of a mutant that differ from those of the fix.

        Args:
            address: that of the call.
            inputs: what is tried, the same as for the fix.
            fix: the outcomes of the fix.
        """
        expected = fix.in_sequence.get(address, [])
        volatile = fix.volatile.get(address, frozenset())
        sequence = self._sequence(inputs[: len(expected)]) if expected else []
        outcomes = [_without_volatile(outcome, volatile) for outcome in sequence]
        suspects: Iterable[int] = (
            number
            for number, (outcome, fix_outcome) in enumerate(zip(outcomes, expected, strict=False))
            if outcome != fix_outcome
        )
        if not expected:
            suspects = (number for number in range(len(inputs)) if f"{address}.{number}" in fix.by_input)
        confirmed = 0
        for number in suspects:
            outcome = _without_volatile(self._outcome_in_fork(inputs[number]), volatile)
            if outcome != fix.by_input[f"{address}.{number}"]:
                self.outcomes[f"{address}.{number}"] = outcome
                confirmed += 1
            if confirmed == _MAX_CONFIRMED or outcome == _LATE:
                break

    def _sequence(self, inputs: Sequence[Candidate]) -> list[str]:
        """Return the outcome of each input, tried one after the other in one fork.

        Where an input ends the fork or is late, the rest are tried in another fork, up to `_MAX_FORKS`.
        """
        outcomes: list[str] = []
        for _ in range(_MAX_FORKS):
            outcomes += self._run_sequence(inputs[len(outcomes) :])
            if len(outcomes) == len(inputs) or (self._fix_outcomes is not None and outcomes[-1] == _LATE):
                break
        return outcomes

    def _run_sequence(self, inputs: Sequence[Candidate]) -> list[str]:
        """Return the outcomes of inputs tried in one fork, up to the first that ends it."""
        limits = self._limits._replace(seconds=self._limits.seconds + _SEQUENCE_SHARE * len(inputs))

        def work(tell: Callable[[bytes], None]) -> bytes:
            for candidate in inputs:
                tell(json.encode(self._call_with(candidate)) + b"\n")
            return b""

        ended = _in_fork(work, limits)
        outcomes = [json.decode(line, type=str) for line in ended.output.split(b"\n")[:-1]]
        return outcomes if ended.is_whole else [*outcomes, _no_outcome(ended)]

    def _outcome_in_fork(self, candidate: Candidate) -> str:
        """Return the outcome of one input, tried in a fork of its own."""
        ended = _in_fork(lambda _: self._call_with(candidate).encode(), self._limits)
        return ended.output.decode() if ended.is_whole else _no_outcome(ended)

    def _call_with(self, candidate: Candidate) -> str:
        """Call the function with a copy of an input, and return the outcome; runs in the fork."""
        _is_exploring[0] = True
        arguments = copied(candidate.arguments)
        before = repr(arguments)
        if self._changes is not None:
            with paused():
                self._changes.begin()
        call = called_with(self._signature, arguments)
        value, raised = None, None
        try:
            value = self._function(*call.args, **call.kwargs)
            if inspect.isawaitable(value):
                asyncio._set_running_loop(None)  # noqa: SLF001 - the loop runs in the parent process
                value = asyncio.run(_awaited(value))
            if inspect.isgenerator(value):
                value = list(value)
        except BaseException as error:
            value, raised = None, error
        changed = arguments if raised is None and repr(arguments) != before else None
        outcome = call_outcome(value, raised, changed)  # now: what it returned may be undone
        with paused():
            changes = {} if self._changes is None else self._changes.take()
        return json.encode(outcome | changes).decode()


def _in_fork(work: Callable[[WritePart], bytes], limits: Limits) -> ForkEnd:
    """Do some work in a fork, as `forked` does. What is denied to the live crossing does not forbid that fork."""
    with paused():  # the fork is ours, and not a process of the program
        fork_or_end = fork_or_wait(limits, own_group=False)
    if isinstance(fork_or_end, Fork):
        try:
            fork_or_end.end(work(fork_or_end.write))
        finally:
            unpatched.immediate_exit(1)
    return fork_or_end


async def _awaited(value: Any) -> Any:
    return await value


def _short_repr(value: Any, most: int = 200) -> str:
    text = _ADDRESS.sub("", repr(value))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def with_findings(reply: TrialReply, explorers: Sequence[Explorer], knows: Knows) -> TrialReply:
    """Return a reply with what the explorers found; `knows` are the constants of the functions."""
    outcomes: dict[str, str] = {}
    inputs: list[Input] = []
    for explorer in explorers:
        outcomes |= explorer.outcomes
        inputs += explorer.inputs
    return msgspec.structs.replace(
        reply, outcomes=outcomes, inputs=tuple(inputs), knows=knows if inputs else {}
    )
