"""When a crossing may end: crossings of different lanes end in the recorded order, and wait for their turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autochron._runtime import unpatched
from autochron.replaying.turns import Waiters

if TYPE_CHECKING:
    from autochron.model import Envelope
    from autochron.replaying.consequences import Consequences
    from autochron.replaying.cursor import Cursor, Turns

PATIENCE = 1.0
"""Seconds without any progress after which a crossing no longer waits for its turn."""

LEAST_PATIENCE = 0.02

VALUE_PATIENCE = 0.25, 0.002
"""The same at first and at least for ambient values, which may be asked for under a lock."""

LIVE_PATIENCE = 20
"""How many times as long something that is live and should end before is waited for."""

_ROUNDS = 32
"""Turns of an event loop, at most, in which what another crossing's end set off may come to an end."""


class Schedule:
    """The turns of one process of a replay, and the threads and tasks that wait for them.

    Attributes:
        lock: the lock under which the state of the replay changes; who holds it may take it again.
        turns: the crossings that have not ended yet, in the recorded order of their ends.
        waiters: the threads and tasks that wait.
        progress: how many crossings have ended.
        live_now: how many live crossings are open.
    """

    def __init__(self, turns: Turns, cursor: Cursor, consequences: Consequences) -> None:
        self.lock = unpatched.RLock()
        self.turns = turns
        self.waiters = Waiters()
        self.progress = 0
        self.live_now = 0
        self._cursor = cursor
        self._consequences = consequences
        self._patience = PATIENCE
        """Less once it has run out: then the order is another, as where a pool's few workers got their tasks in another."""
        self._value_patience = VALUE_PATIENCE[0]

    def begin_anew(self, turns: Turns) -> None:
        """Schedule a child process from now on: after a fork, threads that are gone may hold the lock, or wait."""
        self.lock = unpatched.RLock()
        self.turns = turns
        self.waiters = Waiters()
        self.live_now = 0

    def is_due(self, envelope: Envelope) -> bool:
        """Return whether nothing that should end before is still to be waited for; behind something live nothing is."""
        return self.turns.is_due(envelope) or self._consequences.include(envelope)

    def finish(self, envelope: Envelope) -> None:
        """Note under the lock that a crossing has ended, and wake those whose turn that makes it."""
        self.turns.finish(envelope)
        if not self._cursor.is_short:
            self._cursor.let_go(envelope)
        self.progress += 1
        if self.waiters.are_there:
            self.waiters.wake(self.is_due)

    def finish_unrecorded(self) -> None:
        """Note under the lock that a crossing without a record has ended."""
        self.progress += 1
        self.waiters.wake(self.is_due)

    def give_up(self, envelope: Envelope) -> None:
        """Let a crossing go on although not all that should have ended before has."""
        with self.lock:
            self._patience = max(self._patience / 10, LEAST_PATIENCE)
            self.turns.give_up(envelope)
            self.waiters.wake(self.is_due)

    # --- waiting -----------------------------------------------------------------------------------------------------

    def deadline(self) -> int:
        """Return the moment, in nanoseconds of the performance counter, until which one waits from now on."""
        return unpatched.perf_counter_ns() + int(self._patience * 1e9)

    def wait(self, envelope: Envelope) -> None:
        """Block until what ended earlier has ended, or until nothing has moved for a while."""
        patient = 0
        with self.lock:
            moved = self.waiters.condition(self.lock)
            while not self.is_due(envelope):
                if moved.wait(self._value_patience if envelope.is_value else self._patience):
                    continue
                if envelope.is_value:  # who asks may hold a lock; what it is given is the same in any order
                    self._value_patience = max(self._value_patience / 5, VALUE_PATIENCE[1])
                    return
                patient += 1
                if not self.live_now or patient > LIVE_PATIENCE:
                    self.give_up(envelope)

    def wait_until_met(self, other: Envelope) -> None:
        """Block until a crossing has begun, for a while at most."""
        deadline = self.deadline()
        while not self._cursor.is_met(other) and unpatched.perf_counter_ns() < deadline:
            unpatched.sleep(0.0005)

    async def wait_async(self, envelope: Envelope, asyncio: Any, loop: Any) -> None:
        """Wait in a task of an event loop until what ended earlier has ended, or until nothing has moved for a while."""
        seen, deadline = self.progress, self.deadline()
        patient = 0
        while not self.is_due(envelope):
            await self.waiters.wait(loop, envelope)
            now = unpatched.perf_counter_ns()
            if self.progress != seen:
                seen, deadline = self.progress, now + int(self._patience * 1e9)
            elif now > deadline and self.live_now and patient < LIVE_PATIENCE:
                patient, deadline = patient + 1, now + int(self._patience * 1e9)
            elif now > deadline:
                self.give_up(envelope)
                break
        await _let_others_go(asyncio)


async def _let_others_go(asyncio: Any) -> None:
    """Let tasks that an earlier end woke get to their next wait: it takes a loop several turns to reach them."""
    ready = getattr(asyncio.get_running_loop(), "_ready", True)  # other loops than asyncio's don't tell
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)
        if not ready:
            return
