"""End a replay that waits for what a served body would have done.

A served body does nothing. Some effects of a body can't be served: an item put into a queue, an event set, a future
completed, bytes written into a pipe. A program that waits for one of these without a time limit would wait for ever.

So a hidden thread looks at the program once a second. It ends the replay where everything below holds for `PATIENCE`
looks:

- each thread of the program waits in the standard library, or in trio, without a time limit, at the same instruction;
- no crossing has ended, none is live, and the processor is hardly used;
- nothing from outside can wake the program: it has no child process, no listening socket, no timer and no signal
  handler.

Some waits are not recognized, and last as they would without us: those of a thread that calls `Lock.acquire`,
`SimpleQueue.get`, `recv` or `read` itself, and those of an event loop of uvloop. Their frames look like those of a
thread that sleeps or computes.

Rejected: to refuse each crossing whose argument differs after it from before it. Another task may have changed it, a
future may have been passed to be awaited, and a served producer with a served consumer replays well. All of these
would be refused.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from types import FrameType, FunctionType
from typing import Any, Final

from msgspec.json import decode

from autochron._runtime import unpatched
from autochron._runtime.frame_locals import locals_of
from autochron._runtime.unpatched import program_os
from autochron.model import Envelope
from autochron.replaying.director import Director
from autochron.store.threads import HiddenThread

PATIENCE: Final = 5
"""Number of looks, one a second, at which the program has to be in the same state."""

_INTERVAL: Final = 1.0
_WORK: Final = 0.5
"""Seconds of processor time. A program that uses less between two looks may stand still."""

_FOR_EVER: Final = 86_400
"""Seconds from which on a time limit counts as none: trio waits for a day at most, and then again."""

_TIMED = frozenset({
    ("threading", "wait"),
    ("threading", "join"),
    ("threading", "_wait_for_tstate_lock"),
    ("selectors", "select"),
    ("trio._core._io_epoll", "get_events"),
    ("trio._core._io_kqueue", "get_events"),
})  # fmt: skip
"""Modules and functions that wait for as many seconds as their local variable `timeout` says."""

_UNTIMED = frozenset({("threading", "_shutdown"), ("concurrent.futures.thread", "_worker")})
"""Modules and functions that wait without a time limit."""

_KI = "trio._core._ki"
"""Module of the signal handler that trio itself sets for Ctrl-C."""

_SIGNALS: Final = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGINT")
_MOST_NAMED: Final = 3
"""Suspects that the message names at most."""


class Standstill:
    """Watches a replayed program for a standstill.

    Args:
        director: serves the program.
        end: ends the process; called on the hidden thread, after the divergence is noted.
    """

    def __init__(self, director: Director, end: Callable[[], None]) -> None:
        self._director = director
        self._end = end
        self._stop = unpatched.Lock()
        self._stop.acquire()
        self._is_over = False
        self._thread: HiddenThread | None = None

    def begin(self) -> None:
        """Start to watch. A fork ends the watch, since Python warns of forks of processes with several threads."""
        self._thread = HiddenThread(self._watch)
        if hasattr(program_os, "register_at_fork"):
            program_os.register_at_fork(before=self.over)

    def over(self) -> None:
        """Stop watching. Do nothing if it is over already, or if the watching thread itself ends the program."""
        thread = self._thread
        if self._is_over or thread is None or thread.ident == unpatched.get_ident():
            return
        self._is_over = True
        self._stop.release()
        thread.join(_INTERVAL)

    def _watch(self) -> None:
        last_state, count = None, 0
        while not unpatched.acquire(self._stop, timeout=_INTERVAL):
            state = self._look()
            count = count + 1 if state is not None and state == last_state else 0
            last_state = state
            if count >= PATIENCE and not self._is_over:
                if self._note():
                    self._end()
                return

    def _look(self) -> tuple[Any, ...] | None:
        """Return the state that is constant while the program stands still; None if it can't stand still."""
        schedule = self._director.state.schedule
        if not schedule.progress or schedule.live_now:
            return None
        threads = dict(_program_threads())
        if not all(map(_waits_for_ever, threads.values())) or _can_be_signalled() or _has_children():
            return None
        places = tuple((ident, id(frame), frame.f_lasti) for ident, frame in threads.items())
        # A library in C may work on threads that Python does not know.
        spent = unpatched.os.times()
        return schedule.progress, places, (spent.user + spent.system) // _WORK

    def _note(self) -> bool:
        """Note the standstill, with the served crossings that may be the reason.

        Returns:
            False if nothing was served; then nothing is noted.
        """
        suspects = list(self._suspects())
        envelope = suspects[0][0] if suspects else self._last_served()
        if envelope is None:
            return False
        if suspects:
            names = ", ".join(text for _, text in suspects)
            cause = f"what was served has not done again what it did to {names}"
        else:
            cause = f"served bodies do nothing, and that of {envelope.address} was the last"
        message = (
            f"the program stands still: each of its threads waits without a time limit, and {cause}; make it live"
            f" (--live {envelope.name}), or make what waits for it a part of the boundary"
        )
        self._director.note("standstill", envelope.address, message, severity="error")
        return True

    def _suspects(self) -> Iterator[tuple[Envelope, str]]:
        """Yield served crossings, each with an argument that it may have changed, of the likeliest kind there is."""
        for find_argument in (_unrepeated, _unreadable, _repeated):
            arguments = ((envelope, find_argument(envelope)) for envelope in self._served())
            texts = (
                (envelope, f"{argument} of {envelope.address}")
                for envelope, argument in arguments
                if argument
            )
            shown = list(islice(texts, _MOST_NAMED))
            if shown:
                yield from shown
                return

    def _last_served(self) -> Envelope | None:
        return next(iter(deque(self._served(), maxlen=1)), None)

    def _served(self) -> Iterator[Envelope]:
        """Yield the crossings that were served so far."""
        state = self._director.state
        for envelope in state.record:
            if state.cursor.is_met(envelope) and not state.plan.is_live(envelope):
                yield envelope


def _unrepeated(envelope: Envelope) -> str | None:
    """Return the name of an argument that the crossing changed in a way that serving can't repeat."""
    return _first_below("changed.", envelope)


def _unreadable(envelope: Envelope) -> str | None:
    """Return the name of an argument of which only the type is known."""
    return _first_below("(input).", envelope)


def _repeated(envelope: Envelope) -> str | None:
    """Return the name of an argument that serving changes again, but without waking anybody who waits for it."""
    return None if envelope.changed is None else next(iter(decode(envelope.changed)), None)


def _first_below(prefix: str, envelope: Envelope) -> str | None:
    entry = next((entry for entry in envelope.opaque if entry.startswith(prefix)), None)
    return None if entry is None else entry.removeprefix(prefix).partition(": ")[0].partition(".")[0]


def _program_threads() -> Iterator[tuple[int, FrameType]]:
    """Yield the identifier and the innermost frame of each thread that is not ours."""
    idents = {thread.ident for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - the only way to see what other threads do
        outermost = frame
        while outermost.f_back is not None:
            outermost = outermost.f_back
        if ident in idents or not str(outermost.f_globals.get("__name__")).startswith("autochron."):
            yield ident, frame


def _has_children() -> bool:
    """Return whether the process has a child process, which may yet wake it. True if that is not known."""
    if not hasattr(program_os, "waitid"):
        return True
    try:
        unpatched.os.waitid(program_os.P_ALL, 0, program_os.WEXITED | program_os.WNOHANG | program_os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _waits_for_ever(frame: FrameType) -> bool:
    """Return whether a thread with this innermost frame waits without a time limit."""
    place = (frame.f_globals.get("__name__"), frame.f_code.co_name)
    if place in _UNTIMED:
        return True
    if place not in _TIMED:
        return False
    variables = locals_of(frame)
    limit = variables.get("timeout")
    if limit is not None and 0 <= limit < _FOR_EVER:
        return False
    return place[0] != "selectors" or not _listens(variables.get("self"))


def _listens(selector: Any) -> bool:
    """Return whether an event loop waits for connections from outside, or for standard input."""
    import _socket  # lazy: where an event loop stands still; not `socket`, which programs patch

    for descriptor in list(getattr(selector, "_fd_to_key", ())):
        if descriptor == 0:
            return True
        try:
            view = _socket.socket(fileno=descriptor)
        except OSError:  # no socket
            continue
        try:
            if view.getsockopt(_socket.SOL_SOCKET, _socket.SO_ACCEPTCONN):
                return True
        finally:
            view.detach()  # the descriptor is the program's
    return False


def _can_be_signalled() -> bool:
    """Return whether the program handles a signal, or has set a timer."""
    if hasattr(signal, "getitimer") and signal.getitimer(signal.ITIMER_REAL)[0]:
        return True
    handlers = [signal.getsignal(getattr(signal, name)) for name in _SIGNALS if hasattr(signal, name)]
    return any(
        type(handler) is FunctionType and handler.__globals__.get("__name__") != _KI for handler in handlers
    )
