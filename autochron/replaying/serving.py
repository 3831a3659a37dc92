"""Serve what was recorded, in the shape that the call had."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import decode as decode_json
from msgspec.json import encode as encode_json

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.crossing.adapters import begin
from autochron.crossing.iterators import BY_NAME
from autochron.envelope import codec
from autochron.errors import AutochronError, CodecError, DivergenceError
from autochron.inputs import sent_form
from autochron.model import Abandoned, Closed, Envelope, Raised, Returned, Streamed
from autochron.replaying.changes import repeat_changes
from autochron.replaying.compare import error_name, is_of_type
from autochron.replaying.printing import MARK as PRINTS
from autochron.replaying.turns import running_loop

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.replaying.replay_state import ReplayState
    from autochron.replaying.running import Running

_CANCELLED = ("asyncio.exceptions:CancelledError", "concurrent.futures._base:CancelledError")

NOTHING_BESIDE = b"{}"

ALIASES = b'"aliases":'
"""Stands in the `meta` of an envelope in whose outcome arguments stand."""

TAKEN = b'"taken":'
"""Stands in the `meta` of an envelope inside of which standard input was read."""

_BESIDE = (b'"handed":', b'"steps":', b'"sent":', ALIASES, TAKEN)
"""Facts of an outcome in an envelope's `meta`."""


class ServedCrossing(Struct, eq=False):
    """A crossing whose body is not run. It is false, which tells woven code so."""

    _state: ReplayState
    _crossing: Crossing[Running]
    _arguments: tuple[Any, ...]
    envelope: Envelope
    _given: int = 0
    _is_thrown: bool = False
    _beside: dict[str, Any] | None = None

    def __bool__(self) -> bool:
        return False

    # --- for woven code ----------------------------------------------------------------------------------------------

    def outcome(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a plain function."""
        form = self.envelope.form
        if form == "value":
            if self._state.schedule.turns.parallel:
                self.wait()
            return self._end()
        if form == "awaitable":
            return None, self._named(self._awaitable())
        if form == "iterator":
            make = BY_NAME.get(self._facts("handed").get("type"))
            return None, self._begun(self.iterator) if make is None else make(_Steps(self))
        if form == "object":
            return self._object()
        if form == "async_iterator":
            return None, self._begun(self._async_iterator)
        return None, self._task() if self._facts("handed").get("task") else self._future()

    async def outcome_async(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a coroutine function."""
        # What it handed out, the caller waits for later.
        return await self._outcome_later() if self.envelope.form == "value" else self.outcome()

    async def _outcome_later(self) -> tuple[BaseException | None, Any]:
        """Wait until it is this crossing's turn to end, and return (error, value)."""
        try:
            await self.wait_async()
        except (
            BaseException
        ) as error:  # cancelled or closed, which ends the crossing for those that wait for it
            if self._was_cancelled():
                self._repeat(0)
            elif self._state.plan.is_full and _is_cancellation(error):
                # It ended before the recorded run came to cancel it: two tools of a group may fail at once.
                return self._end()
            self._state.served(self.envelope)
            raise
        return self._end()

    def items(self, is_begun: bool = False) -> Generator[Any, Any, tuple[BaseException | None, Any]]:  # noqa: FBT001, FBT002
        """Yield the items for a generator function; its value is (error, value). Of `is_begun` see `iterator`."""
        outcome = self.envelope.outcome
        items = outcome.items if isinstance(outcome, Streamed) else ()
        for index in range(0 if is_begun else 1, len(items) + 1):
            item = None
            if index:
                self._given = index
                self._step(index - 1)
                item = self._decode(items[index - 1])
            try:
                sent = yield item
            except GeneratorExit:
                self._closed(outcome)
                raise
            except BaseException as error:
                self._compare_sent(None, error)
                if index == len(items) and self._let_through(outcome, error):
                    return error, None
            else:
                self._compare_sent(sent, None)
        return self._end()

    def _compare_sent(self, sent: Any, thrown: BaseException | None) -> None:
        """Compare what the consumer sends or throws in with what it did after as many items."""
        state, recorded = self._state, self._facts("sent").get(str(self._given))
        if isinstance(thrown, AutochronError) or not state.record.header.typed:
            return
        if sent is None and thrown is None and recorded is None:
            return
        then = b"{}" if recorded is None else encode_json(recorded)
        now = b"{}" if sent is None and thrown is None else state.inputs.mask(sent_form(sent, thrown))
        state.divergence_log.compare_sent(self.envelope, self._given, then, now)

    def _let_through(self, outcome: Any, error: BaseException) -> bool:
        """Return whether what was thrown in after the last item left the body: it did if the record ends so, or is cut off.

        Otherwise the body caught it, and the record goes on. Then the very object is raised again: that is how a context
        manager tells its own exceptions from the caller's.
        """
        end = outcome.end if isinstance(outcome, Streamed) else outcome
        if isinstance(end, Returned):
            return False
        if isinstance(end, Raised):
            if not is_of_type(end.error, error):
                return False
            self._repeat(self._given)
        self._state.served(self.envelope)
        return True

    async def step_async(self, sent: Any = None) -> tuple[bool, BaseException | None, Any]:
        """Return (done, error, item) for an asynchronous generator function."""
        outcome = self.envelope.outcome
        if self._is_thrown:
            self._is_thrown = False
        elif self._given:
            self._compare_sent(sent, None)
        items = outcome.items if isinstance(outcome, Streamed) else ()
        if self._given < len(items):
            self._step(self._given)
            self._given += 1
            return False, None, self._decode(items[self._given - 1])
        try:
            await self._wait_for_cancellation(isinstance(outcome, Streamed) and _is_cancelled(outcome.end))
        except BaseException:
            self._repeat(len(items))
            self._state.served(self.envelope)
            raise
        error, _ = self._end()
        return True, error, None

    def thrown(self, error: BaseException) -> bool:
        """Return whether what was thrown into an asynchronous generator leaves it; so does what closes it."""
        outcome = self.envelope.outcome
        if isinstance(outcome, Streamed) and not isinstance(error, GeneratorExit):
            self._compare_sent(None, error)
            self._is_thrown = True
            return self._given == len(outcome.items) and self._let_through(outcome, error)
        self._closed(outcome)
        return True

    # --- the other forms ---------------------------------------------------------------------------------------------

    async def _awaitable(self) -> Any:
        error, value = await self._outcome_later()
        if error is not None:
            raise error
        return value

    def _begun(self, make: Callable[[bool], Any]) -> Any:
        """Return a generator that waits where the one that was recorded waited when it was handed out."""
        is_begun = bool(self._facts("handed").get("begun"))
        stream = self._named(make(is_begun))
        return begin(stream) if is_begun else stream

    def iterator(self, is_begun: bool = False) -> Generator[Any, Any, Any]:  # noqa: FBT001, FBT002 - see `_begun`
        """Yield the items, and before them nothing once if the generator is to wait there; it ends as the record does."""
        error, value = yield from self.items(is_begun)
        if error is not None:
            raise error
        return value

    async def _async_iterator(self, is_begun: bool) -> AsyncGenerator[Any, None]:  # noqa: FBT001 - see `_begun`
        sent: Any = None
        if is_begun:
            try:
                sent = yield None
            except BaseException as thrown:
                if self.thrown(thrown):
                    raise
            else:
                self._compare_sent(sent, None)
        while True:
            done, error, item = await self.step_async(sent)
            sent = None
            if error is not None:
                raise error
            if done:
                return
            try:
                sent = yield item
            except BaseException as thrown:
                if self.thrown(thrown):
                    raise

    def _future(self) -> Any:
        loop = running_loop()
        future = sys.modules["concurrent.futures"].Future() if loop is None else loop.create_future()
        if loop is None or not self._facts("handed").get("pending"):
            self._settle(future, loop)
        else:
            self._settle_later(future, loop, self._state.schedule.deadline())
        return future

    def _settle_later(self, future: Any, loop: Any, deadline: int) -> None:
        """Settle a future that was pending when it was handed out, in its turn; one that is cancelled first has ended."""

        def settle() -> None:
            if future.done():
                self._state.served(self.envelope)
            elif self._state.schedule.is_due(self.envelope) or unpatched.perf_counter_ns() > deadline:
                self._settle(future, loop)
            else:
                loop.call_later(0.001, settle)

        loop.call_soon(settle)

    def _settle(self, future: Any, loop: Any) -> None:
        error, value = self._end()
        if _is_cancelled(self.envelope.outcome):
            future.cancel()
            if loop is None:
                future.set_running_or_notify_cancel()
        elif error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    def _object(self) -> tuple[BaseException | None, Any]:
        from autochron.replaying.objects import made_again  # lazy: it is rare

        try:
            return None, made_again(self, self._facts("handed"))
        except CodecError as error:
            self._state.not_rebuilt(self.envelope, error)
            return error, None

    def _task(self) -> Any:
        # Not by `create_task`: it is no lane of the program's.
        return sys.modules["asyncio"].Task(self._named(self._awaitable()), loop=running_loop())

    def _named(self, stand_in: Any) -> Any:
        handed, called = self._facts("handed"), self._crossing.point.called
        stand_in.__name__ = handed.get("name", called.rpartition(".")[2])
        stand_in.__qualname__ = handed.get("qualname", called)
        return stand_in

    # --- what a body did beside giving something ---------------------------------------------------------------------

    def _facts(self, key: str) -> Any:
        """Return a part of what stands beside the outcome in the record, or an empty object."""
        if self._beside is None:
            meta = self.envelope.meta
            self._beside = decode_json(meta) if any(part in meta for part in _BESIDE) else {}
        return self._beside.get(key, {})

    def _step(self, items: int) -> None:
        """Print and change what the body did once it had handed out so many items, and before the next."""
        step = self._facts("steps").get(str(items))
        if step is not None:
            sys.stdout.write(step.get("printed", ""))
            if "changed" in step:
                self._change(encode_json(step["changed"]))

    def _repeat(self, items: int) -> None:
        """Print and change what the body did before its end, however it ended."""
        envelope = self.envelope
        if envelope.meta != NOTHING_BESIDE:
            self._step(items)
            if TAKEN in envelope.meta:
                _take(self._facts("taken"))
            if PRINTS in envelope.meta:
                self._state.printing.end(envelope)
            elif b'"printed":' in envelope.meta:
                sys.stdout.write(decode_json(envelope.meta).get("printed", ""))
        if envelope.changed is not None:
            self._change(envelope.changed)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _end(self) -> tuple[BaseException | None, Any]:
        """Return how the crossing ended, with what it changed in its arguments changed again."""
        envelope = self.envelope
        try:
            outcome = envelope.outcome
            if envelope.meta != NOTHING_BESIDE or envelope.changed is not None:
                self._repeat(len(outcome.items) if isinstance(outcome, Streamed) else 0)
            return self._ended(outcome.end if isinstance(outcome, Streamed) else outcome)
        except Exception as error:
            self._state.not_rebuilt(envelope, error)
            return error, None
        finally:
            self._state.served(self.envelope)

    def _change(self, changed: bytes) -> None:
        failed = repeat_changes(changed, self._crossing, self._arguments, with_names=self._state.plan.is_full)
        if failed:
            address, names = self.envelope.address, ", ".join(failed)
            message = f"{address} changed {names} when it was recorded, which can't be done again; record the program again"
            self._state.divergence_log.note(
                "outcome", address, message, envelope=self.envelope, path=failed[0]
            )

    def _closed(self, outcome: Any) -> None:
        """Note that the consumer closed the stream, as it may have done when it was recorded."""
        if isinstance(outcome, Streamed):
            count = len(outcome.items)
            if self._given == count and isinstance(outcome.end, Closed):
                self._repeat(count)
            self._state.divergence_log.compare_close(self.envelope, outcome, self._given)
        self._state.served(self.envelope)

    def left_open(self) -> None:
        """Note at the end of the program that a stream was not read as far as it was recorded."""
        outcome = self.envelope.outcome
        if isinstance(outcome, Streamed):
            self._state.divergence_log.compare_left_open(self.envelope, outcome, self._given)

    def _ended(self, end: Returned | Raised | Abandoned | Closed) -> tuple[BaseException | None, Any]:
        if isinstance(end, Returned):
            if end.argument is not None:
                return None, self._argument(end.argument)
            if ALIASES in self.envelope.meta:
                return None, self._with_arguments(end.value)
            return None, codec.decode(end.value)
        if isinstance(end, Raised):
            return codec.decode(end.error), None
        count = len(self.envelope.outcome.items) if isinstance(self.envelope.outcome, Streamed) else 0
        how = "closed" if isinstance(end, Closed) else "abandoned"
        return self.read_further(f"{how} after {count} items"), None

    def _with_arguments(self, body: bytes) -> Any:
        """Return what was recorded, with the caller's own objects where arguments stood in it."""
        aliases = self._facts("aliases")
        value = codec.decode_without(body, [path for path, _ in aliases])
        for path, name in aliases:
            value = _with(value, path, self._argument(name))
        return value

    def read_further(self, recorded: str) -> DivergenceError:
        """Return the error for reading what is not on record, having noted it."""
        address = self.envelope.address
        message = (
            f"{address} is read further than when it was recorded ({recorded}); record the program again"
        )
        self._state.divergence_log.note("outcome", address, message, severity="error")
        return DivergenceError(message)

    def _argument(self, path: str) -> Any:
        """Return the caller's own object: an argument, or what `*args` or `**kwargs` caught."""
        name, _, member = path.partition(".")
        argument = self._arguments[self._crossing.point.parameters.index(name)]
        if not member:
            return argument
        return argument[member] if isinstance(argument, dict) else argument[int(member)]

    def _decode(self, body: bytes) -> Any:
        try:
            return codec.decode(body)
        except Exception as error:
            self._state.not_rebuilt(self.envelope, error)
            raise

    def wait(self) -> None:
        """Wait until what ended before this crossing has ended."""
        schedule = self._state.schedule
        # Not in an event loop: what is waited for may be another task of the same loop.
        if schedule.turns.parallel and running_loop() is None:
            schedule.wait(self.envelope)
            self._wait_for_printers()

    def _wait_for_printers(self) -> None:
        """Wait until those have begun that had begun when this crossing printed last: they printed before it."""
        state = self._state
        seq = state.printing.last_before(self.envelope)
        if seq is None or seq == self.envelope.seq:
            return
        other = state.record.get(seq)
        if not f"{other.lane}/".startswith(f"{self.envelope.lane}/"):  # else it is inside of it, or after it
            state.schedule.wait_until_met(other)

    async def wait_async(self) -> None:
        """Wait in an event loop until what ended before this crossing has ended; for ever, where it was cancelled."""
        asyncio, loop = sys.modules.get("asyncio"), running_loop()
        if loop is None or asyncio is None:
            return
        await self._wait_for_cancellation(self._was_cancelled())
        schedule = self._state.schedule
        if schedule.turns.parallel:
            await schedule.wait_async(self.envelope, asyncio, loop)

    def _was_cancelled(self) -> bool:
        outcome = self.envelope.outcome
        if isinstance(outcome, Streamed):  # closed, or never ended
            form = self.envelope.form
            return form == "awaitable" or (form == "value" and self._crossing.point.function == "coroutine")
        return _is_cancelled(outcome)

    async def _wait_for_cancellation(self, due: bool) -> None:  # noqa: FBT001 - whether there was one
        loop = running_loop()
        if due and loop is not None:
            await loop.create_future()  # until it is cancelled again


class _Steps:
    """The items for an iterator that could go on after an error: it is not known how."""

    __slots__ = ("_has_raised", "_items", "_serving")

    def __init__(self, serving: ServedCrossing) -> None:
        self._serving = serving
        self._items = serving.iterator()
        self._has_raised = False

    def __iter__(self) -> _Steps:
        return self

    def __next__(self) -> Any:
        if self._has_raised:
            raise self._serving.read_further("after its error")
        try:
            return next(self._items)
        except StopIteration:
            raise
        except BaseException:
            self._has_raised = True
            raise


def _is_cancellation(error: BaseException) -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and type(error) is asyncio.CancelledError


def _is_cancelled(outcome: Any) -> bool:
    return isinstance(outcome, Raised) and error_name(outcome.error) in _CANCELLED


def _with(value: Any, path: list[str | int], member: Any) -> Any:
    """Return a value with another member at a path: itself, but for tuples on the way."""
    if not path:
        return member
    key: Any = path[0]
    held = _with(value[key], path[1:], member)
    if isinstance(value, tuple):
        return tuple.__new__(type(value), (*value[:key], held, *value[key + 1 :]))
    value[key] = held
    return value


def _take(parts: list[tuple[str, int]]) -> None:
    """Take from standard input what the body took: the next reader gets what comes after it."""
    for kind, count in parts:
        try:
            if kind == "text":
                sys.stdin.read(count)
            elif kind == "bytes":
                sys.stdin.buffer.read(count)
            else:
                left = count
                while left and (data := os.read(0, left)):
                    left -= len(data)
        except (OSError, ValueError, AttributeError):  # the program has closed or replaced it
            return
