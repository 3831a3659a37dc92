"""Serving of recorded crossings: values, errors, iterators, futures and tasks, in the form that the recorded call had."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import decode as decode_json
from msgspec.json import encode as encode_json

from autochron._runtime import unpatched
from autochron._runtime.own_frames import drop_frame, drop_frames, unchanged
from autochron.crossing.adapters import begin
from autochron.crossing.iterators import BY_NAME
from autochron.envelope import codec
from autochron.envelope.tracebacks import prepend_frames
from autochron.errors import AutochronError, CodecError, DivergenceError
from autochron.inputs import sent_form
from autochron.model import Abandoned, Closed, Envelope, Raised, Returned, Streamed
from autochron.replaying import dialogs
from autochron.replaying.changes import repeat_changes, with_member
from autochron.replaying.compare import is_cancelled, is_of_type
from autochron.replaying.printing import MARK as PRINTS
from autochron.replaying.standard_input import TAKEN, consume
from autochron.replaying.turns import running_loop

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.replaying.replay_state import ReplayState
    from autochron.replaying.running import Running

NOTHING_BESIDE = b"{}"

ALIASES = b'"aliases":'
"""In the `meta` of an envelope: it says where arguments are parts of the outcome."""

_OUTCOME_FACTS = (b'"handed":', b'"steps":', b'"sent":', ALIASES, TAKEN, dialogs.MOMENTS)
"""The facts in an envelope's `meta` that describe how its outcome is served."""


class ServedCrossing(Struct, eq=False):
    """A crossing that is served. Its truth value is false, by which woven code knows not to run the body.

    Attributes:
        envelope: the record of the crossing.
    """

    _state: ReplayState
    _crossing: Crossing[Running]
    _arguments: tuple[Any, ...]
    envelope: Envelope
    _served: int = 0
    """The number of items that were served."""
    _is_thrown: bool = False
    """Whether the consumer has thrown an error into an asynchronous generator that goes on."""
    _meta: dict[str, Any] | None = None
    """The decoded `meta` of the envelope, once it is needed."""

    def __bool__(self) -> bool:
        return False

    # --- called by woven code ----------------------------------------------------------------------------------------

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
            return None, self._begun(self.iterator) if make is None else self._lazy_iterator(make)
        if form == "object":
            return self._object()
        if form == "async_iterator":
            return None, self._begun(self._async_iterator)
        return None, self._task() if self._facts("handed").get("task") else self._future()

    async def outcome_async(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a coroutine function."""
        # A returned awaitable, iterator or future waits for its turn later.
        return await self._outcome_later() if self.envelope.form == "value" else self.outcome()

    async def _outcome_later(self) -> tuple[BaseException | None, Any]:
        """Wait until it is this crossing's turn to end, and return (error, value)."""
        try:
            await self.wait_async()
        except BaseException as error:  # the task was cancelled or closed, which ends the crossing
            drop_frames(error)
            self._show_recorded_frames(error)
            if self._was_cancelled():
                self._repeat(0)
            elif self._state.plan.is_full and _is_cancellation(error):
                # In the recording it ended before it could be cancelled, as when two tools of a task group fail at once.
                return self._end()
            self._state.served(self.envelope)
            # Not raised here: woven code raises it without a traceback entry for its own prologue.
            return error, None
        return self._end()

    def items(self, is_begun: bool = False) -> Generator[Any, Any, tuple[BaseException | None, Any]]:  # noqa: FBT001, FBT002
        """Yield the items for a generator function, and return (error, value).

        Args:
            is_begun: see `iterator`.
        """
        outcome = self.envelope.outcome
        items = outcome.items if isinstance(outcome, Streamed) else ()
        for index in range(0 if is_begun else 1, len(items) + 1):
            item = None
            if index:
                self._served = index
                self._step(index - 1)
                item = self._decode(items[index - 1])
            try:
                sent = yield item
            except GeneratorExit:
                self._closed(outcome)
                raise
            except BaseException as error:
                drop_frame(error)
                self._compare_sent(None, error)
                if index == len(items) and self._let_through(outcome, error):
                    return error, None
            else:
                self._compare_sent(sent, None)
        return self._end()

    def _compare_sent(self, sent: Any, thrown: BaseException | None) -> None:
        """Compare what the consumer sends or throws with what it did after as many items in the recording."""
        state, recorded = self._state, self._facts("sent").get(str(self._served))
        if isinstance(thrown, AutochronError) or not state.record.header.typed:
            return
        if sent is None and thrown is None and recorded is None:
            return
        before = b"{}" if recorded is None else encode_json(recorded)
        after = b"{}" if sent is None and thrown is None else state.inputs.mask(sent_form(sent, thrown))
        state.divergence_log.compare_sent(self.envelope, self._served, before, after)

    def _let_through(self, outcome: Any, error: BaseException) -> bool:
        """Return whether an error that is thrown after the last item leaves the body.

        It does if the record ends with an error of its type, or is cut off. Then this very error is raised: by its identity
        a context manager knows it from an error of its own. Otherwise the body caught it, and the record goes on.
        """
        end = outcome.end if isinstance(outcome, Streamed) else outcome
        if isinstance(end, Returned):
            return False
        if isinstance(end, Raised):
            if not is_of_type(end.error, error):
                return False
            self._repeat(self._served)
            self._show_recorded_frames(error)
        self._state.served(self.envelope)
        return True

    def _show_recorded_frames(self, error: BaseException) -> None:
        """Add the body's recorded frames to the traceback of an error of the program's that the body let through."""
        outcome = self.envelope.outcome
        end = outcome.end if isinstance(outcome, Streamed) else outcome
        if isinstance(end, Raised) and is_of_type(end.error, error):
            with suppress(AutochronError):  # the recorded error can't be rebuilt, and the program has its own
                prepend_frames(error, codec.decode(end.error))

    async def step_async(self, sent: Any = None) -> tuple[bool, BaseException | None, Any]:
        """Return (done, error, item) for an asynchronous generator function."""
        outcome = self.envelope.outcome
        if self._is_thrown:
            self._is_thrown = False
        elif self._served:
            self._compare_sent(sent, None)
        items = outcome.items if isinstance(outcome, Streamed) else ()
        try:
            if self._served < len(items):
                if dialogs.MOMENTS in self.envelope.meta:
                    await dialogs.wait_for_item(
                        self._state.schedule, self.envelope, self._facts("moments"), self._served
                    )
                self._step(self._served)
                self._served += 1
                return False, None, self._decode(items[self._served - 1])
            await self._wait_for_cancellation(dialogs.was_cut_off(self.envelope))
        except BaseException as thrown:
            drop_frames(thrown)
            if self._served == len(items):
                self._repeat(len(items))
            self._state.served(self.envelope)
            raise
        error, _ = self._end()
        return True, error, None

    def thrown(self, error: BaseException) -> bool:
        """Return whether an error that was thrown into an asynchronous generator leaves it. GeneratorExit does.

        The frame that caught the error is none of the program's body, and is removed from the traceback.
        """
        drop_frame(error)
        outcome = self.envelope.outcome
        if isinstance(outcome, Streamed) and not isinstance(error, GeneratorExit):
            self._compare_sent(None, error)
            self._is_thrown = True
            return self._served == len(outcome.items) and self._let_through(outcome, error)
        self._closed(outcome)
        return True

    # --- the other forms ---------------------------------------------------------------------------------------------

    async def _awaitable(self) -> Any:
        error, value = await self._outcome_later()
        if error is not None:
            with unchanged(error):
                raise error
        return value

    def _begun(self, make: Callable[[bool], Any]) -> Any:
        """Return a generator that is suspended where the recorded one was when it was returned."""
        is_begun = bool(self._facts("handed").get("begun"))
        stream = self._named(make(is_begun))
        return begin(stream) if is_begun else stream

    def iterator(self, is_begun: bool = False) -> Generator[Any, Any, Any]:  # noqa: FBT001, FBT002 - see `_begun`
        """Yield the items, and end as the record does.

        Args:
            is_begun: whether the recorded generator had begun when it was returned. Then None is yielded before the
                items, and `_begun` consumes it.
        """
        try:
            error, value = yield from self.items(is_begun)
        except BaseException as thrown:
            drop_frame(thrown)
            raise
        if error is not None:
            with unchanged(error):
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
            try:
                done, error, item = await self.step_async(sent)
            except BaseException as thrown:
                drop_frame(thrown)
                raise
            sent = None
            if error is not None:
                with unchanged(error):
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
        """Settle a future in its turn that was pending when it was returned. If it is cancelled before, it has ended."""

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
        if is_cancelled(self.envelope.outcome):
            future.cancel()
            if loop is None:
                future.set_running_or_notify_cancel()
        elif error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    def _lazy_iterator(self, make: Callable[[Any], Any]) -> Any:
        from autochron.replaying.objects import ServedItems  # lazy: it is rare

        return make(ServedItems(self))

    def _object(self) -> tuple[BaseException | None, Any]:
        from autochron.replaying.objects import rebuild_object  # lazy: it is rare

        try:
            return None, rebuild_object(self, self._facts("handed"))
        except CodecError as error:
            self._state.not_rebuilt(self.envelope, error)
            return error, None

    def _task(self) -> Any:
        # Not by `create_task`, which would begin a lane: the program has none for it.
        return sys.modules["asyncio"].Task(self._named(self._awaitable()), loop=running_loop())

    def _named(self, stand_in: Any) -> Any:
        handed, called = self._facts("handed"), self._crossing.point.called
        stand_in.__name__ = handed.get("name", called.rpartition(".")[2])
        stand_in.__qualname__ = handed.get("qualname", called)
        return stand_in

    # --- side effects of the body ------------------------------------------------------------------------------------

    def _facts(self, key: str) -> Any:
        """Return an entry of the envelope's `meta`, or an empty object if it has none."""
        if self._meta is None:
            meta = self.envelope.meta
            self._meta = decode_json(meta) if any(part in meta for part in _OUTCOME_FACTS) else {}
        return self._meta.get(key, {})

    def _step(self, items: int) -> None:
        """Repeat the prints and changes that the body made after so many items, and before the next one."""
        step = self._facts("steps").get(str(items))
        if step is not None:
            sys.stdout.write(step.get("printed", ""))
            if "changed" in step:
                self._change(encode_json(step["changed"]))

    def _repeat(self, items: int) -> None:
        """Repeat what the body printed, read and changed before its end. `items` is the number of items before that."""
        envelope = self.envelope
        if envelope.meta != NOTHING_BESIDE:
            self._step(items)
            if TAKEN in envelope.meta:
                consume(self._facts("taken"))
            if PRINTS in envelope.meta:
                self._state.printing.end(envelope)
            elif b'"printed":' in envelope.meta:
                sys.stdout.write(decode_json(envelope.meta).get("printed", ""))
        if envelope.changed is not None:
            self._change(envelope.changed)

    # --- the end -----------------------------------------------------------------------------------------------------

    def _end(self) -> tuple[BaseException | None, Any]:
        """Repeat the side effects of the crossing, and return (error, value)."""
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
        """Note that the consumer closed the stream, and compare that with the record."""
        if isinstance(outcome, Streamed):
            count = len(outcome.items)
            if self._served == count and isinstance(outcome.end, Closed):
                self._repeat(count)
            if dialogs.MOMENTS not in self.envelope.meta:
                self._state.divergence_log.compare_close(self.envelope, outcome, self._served)
        self._state.served(self.envelope)

    def left_open(self) -> None:
        """Note at the end of the program that a stream was not read as far as in the recording."""
        outcome = self.envelope.outcome
        if isinstance(outcome, Streamed) and dialogs.MOMENTS not in self.envelope.meta:
            self._state.divergence_log.compare_left_open(self.envelope, outcome, self._served)

    def _ended(self, end: Returned | Raised | Abandoned | Closed) -> tuple[BaseException | None, Any]:
        """Return (error, value) of a recorded end."""
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
        """Return the recorded value, with the caller's own objects in the places where it contained arguments."""
        aliases = self._facts("aliases")
        value = codec.decode_without(body, [path for path, _ in aliases])
        for path, name in aliases:
            value = with_member(value, path, self._argument(name))
        return value

    def read_further(self, recorded: str) -> DivergenceError:
        """Note that the stream is read further than in the recording, and return the error for it.

        Args:
            recorded: how far it was read in the recording, as words for the message.
        """
        address = self.envelope.address
        message = (
            f"{address} is read further than when it was recorded ({recorded}); record the program again"
        )
        self._state.divergence_log.note("outcome", address, message, severity="error")
        return DivergenceError(message)

    def _argument(self, path: str) -> Any:
        """Return the caller's own object: an argument, or a member of `*args` or `**kwargs`.

        Args:
            path: the parameter's name; for a member followed by a dot and its index or key.
        """
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
        """Block this thread until all earlier crossings have ended."""
        schedule = self._state.schedule
        # Not in an event loop: the earlier crossing may be in another task of the same loop.
        if schedule.turns.parallel and running_loop() is None:
            schedule.wait(self.envelope)
            self._wait_for_printers()

    def _wait_for_printers(self) -> None:
        """Block until the crossing has begun that began last before this one's last print: it may print before it."""
        state = self._state
        seq = state.printing.last_before(self.envelope)
        if seq is None or seq == self.envelope.seq:
            return
        other = state.record.get(seq)
        if not f"{other.lane}/".startswith(
            f"{self.envelope.lane}/"
        ):  # else it is inside this crossing, or after it
            state.schedule.wait_until_met(other)

    async def wait_async(self) -> None:
        """Wait in a task until all earlier crossings have ended. If the crossing was cancelled, wait to be cancelled."""
        asyncio, loop = sys.modules.get("asyncio"), running_loop()
        if loop is None or asyncio is None:
            return
        await self._wait_for_cancellation(self._was_cancelled())
        schedule = self._state.schedule
        if schedule.turns.parallel:
            await schedule.wait_async(self.envelope, asyncio, loop)

    def _was_cancelled(self) -> bool:
        outcome = self.envelope.outcome
        if isinstance(outcome, Streamed):  # a coroutine that was closed, or never ended
            form = self.envelope.form
            return form == "awaitable" or (form == "value" and self._crossing.point.function == "coroutine")
        return is_cancelled(outcome)

    async def _wait_for_cancellation(self, due: bool) -> None:  # noqa: FBT001 - whether there was one
        loop = running_loop()
        if due and loop is not None:
            await loop.create_future()  # until the task is cancelled


def _is_cancellation(error: BaseException) -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and type(error) is asyncio.CancelledError
