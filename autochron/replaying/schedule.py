"""The schedule of a replay: crossings of different lanes end in the recorded order, and wait for their turn."""

from __future__ import annotations

import types
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from autochron._runtime import unpatched
from autochron.replaying.turns import Waiters

if TYPE_CHECKING:
    from autochron.model import Envelope
    from autochron.replaying.consequences import Consequences
    from autochron.replaying.cursor import Cursor, Turns

PATIENCE = 1.0
"""Seconds without progress after which a crossing stops waiting for its turn. It shrinks each time that it runs out."""

LEAST_PATIENCE = 0.02
"""The lower limit of the patience, in seconds."""

VALUE_PATIENCE = 0.25, 0.002
"""The first patience and its lower limit for ambient values, in seconds. The program may ask for these under a lock."""

LIVE_PATIENCE = 20
"""How many times a crossing waits again while a live crossing is open."""

THREAD_PAUSE = 0.005
"""Seconds that a thread waits after its turn has come, for the effects of earlier ends.

The thread of an earlier crossing hands its result to an event loop or a queue, whose reader has to see that it came first. A
reader that finds two results at once may take them in any order, as one does that waits for the first of several tasks.
"""

_ROUNDS = 32
"""The largest number of event loop turns that a task waits after its turn has come, for the effects of earlier ends."""


class Schedule:
    """The turns of one process of a replay, and the threads and tasks that wait for them.

    Attributes:
        lock: the re-entrant lock under which the state of the replay changes.
        turns: the crossings that have not ended yet, in the recorded order of their ends.
        waiters: the threads and tasks that wait.
        progress: the number of crossings that have ended.
        dialogs: by `seq` of an open dialog, the moment of its next item. Items of several come in the recorded order.
        live_now: the number of live crossings that are open.
    """

    def __init__(self, turns: Turns, cursor: Cursor, consequences: Consequences) -> None:
        """Take the turns and the cursor of the record, and what follows from something live."""
        self.lock = unpatched.RLock()
        self.turns = turns
        self.waiters = Waiters()
        self.progress = 0
        self.dialogs: dict[int, int] = {}
        self.live_now = 0
        self._cursor = cursor
        self._consequences = consequences
        self._patience = PATIENCE
        """Seconds. It shrinks when it has run out: then the program goes in another order, and would wait often.

        That happens if a pool's workers get their tasks in another order than in the recording.
        """
        self._value_patience = VALUE_PATIENCE[0]
        """The same for ambient values."""

    def begin_anew(self, turns: Turns) -> None:
        """Change to a child process. After a fork, threads that are gone may hold the old lock, or wait."""
        self.lock = unpatched.RLock()
        self.turns = turns
        self.waiters = Waiters()
        self.dialogs.clear()
        self.live_now = 0

    def is_due(self, envelope: Envelope) -> bool:
        """Return whether a crossing may end. One that follows from something live waits for nothing."""
        return self.turns.is_due(envelope) or self._consequences.include(envelope)

    def finish(self, envelope: Envelope) -> None:
        """Note that a crossing has ended, and wake those whose turn has come. The caller holds the lock."""
        self.turns.finish(envelope)
        if self.dialogs:
            self.dialogs.pop(envelope.seq, None)
        if not self._cursor.is_short:
            self._cursor.let_go(envelope)
        self.progress += 1
        if self.waiters.are_there:
            self.waiters.wake()

    def finish_unrecorded(self) -> None:
        """Note that a crossing without a record has ended. The caller holds the lock."""
        self.progress += 1
        self.waiters.wake()

    def give_up(self, envelope: Envelope) -> None:
        """Let a crossing end although earlier ones have not ended, and reduce the patience."""
        with self.lock:
            self._patience = max(self._patience / 10, LEAST_PATIENCE)
            self.turns.give_up(envelope)
            self.waiters.wake()

    # --- waiting -----------------------------------------------------------------------------------------------------

    def deadline(self) -> int:
        """Return the end of a wait that begins now, in nanoseconds of the performance counter."""
        return unpatched.perf_counter_ns() + int(self._patience * 1e9)

    def wait(self, envelope: Envelope) -> None:
        """Block this thread until all earlier crossings have ended, or until nothing has ended for the patience."""
        patient = 0
        with self.lock:
            if self.is_due(envelope):
                return
            moved = self.waiters.condition(self.lock)
            while not self.is_due(envelope):
                if moved.wait(self._value_patience if envelope.is_value else self._patience):
                    continue
                if envelope.is_value:  # its caller may hold a lock, and gets the same value in any order
                    self._value_patience = max(self._value_patience / 5, VALUE_PATIENCE[1])
                    return
                patient += 1
                if not self.live_now or patient > LIVE_PATIENCE:
                    self.give_up(envelope)
                    return
        if not envelope.is_value:
            unpatched.sleep(THREAD_PAUSE)

    def wait_until_met(self, other: Envelope) -> None:
        """Block this thread until a crossing has begun, for the patience at most."""
        deadline = self.deadline()
        while not self._cursor.is_met(other) and unpatched.perf_counter_ns() < deadline:
            unpatched.sleep(0.0005)

    async def wait_async(self, envelope: Envelope, asyncio: Any, loop: Any) -> None:
        """Wait in a task until all earlier crossings have ended, or until nothing has ended for the patience.

        Args:
            envelope: the record of the crossing that waits.
            asyncio: the module.
            loop: the running event loop.
        """

        def is_due() -> bool:
            return self.is_due(envelope)

        await self._wait_in_task(is_due, lambda: self.give_up(envelope), asyncio, loop)

    async def wait_until_over(self, envelope: Envelope, moment: int, asyncio: Any, loop: Any) -> None:
        """Wait in a task until all crossings have ended that had ended at a moment, and items of dialogs that had come, too.

        Args:
            envelope: the record of the stream that waits.
            moment: nanoseconds since the recording began.
            asyncio: the module.
            loop: the running event loop.
        """

        def is_due() -> bool:
            return all(
                other >= moment for seq, other in self.dialogs.items() if seq != envelope.seq
            ) and self.turns.are_over(moment, envelope)

        def give_up() -> None:
            with self.lock:
                self._patience = max(self._patience / 10, LEAST_PATIENCE)
                self.turns.end_until(moment, envelope)
                for seq in [seq for seq, other in self.dialogs.items() if other < moment]:
                    del self.dialogs[seq]
                self.waiters.wake()

        await self._wait_in_task(is_due, give_up, asyncio, loop)

    async def _wait_in_task(
        self, is_due: Callable[[], bool], give_up: Callable[[], None], asyncio: Any, loop: Any
    ) -> None:
        seen, deadline = self.progress, self.deadline()
        patient = 0
        while not is_due():
            await self.waiters.wait(loop, is_due)
            now = unpatched.perf_counter_ns()
            if self.progress != seen:
                seen, deadline = self.progress, now + int(self._patience * 1e9)
            elif now > deadline and self.live_now and patient < LIVE_PATIENCE:
                patient, deadline = patient + 1, now + int(self._patience * 1e9)
            elif now > deadline:
                give_up()
                break
        await _let_others_go(asyncio)


@types.coroutine
def _one_turn() -> Generator[None, None, None]:
    """Wait for one turn of the event loop, as `asyncio.sleep(0)` does, whose frames a cancelled task would see."""
    yield


async def _let_others_go(asyncio: Any) -> None:
    """Let the tasks that an earlier end woke reach their next wait. That takes several turns of the event loop."""
    ready = getattr(
        asyncio.get_running_loop(), "_ready", True
    )  # other loops than asyncio's have no such attribute
    for _ in range(_ROUNDS):
        await _one_turn()
        if not ready:
            return
