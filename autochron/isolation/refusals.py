"""Refuse denied access of live crossings, changes past the scratch copy, and effects outside every boundary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autochron._runtime.unpatched import getframe, os
from autochron.crossing.lanes import CURRENT, Remote
from autochron.effects.events import LISTS
from autochron.effects.outside import is_signal_to_others, is_state
from autochron.effects.undisturbed import is_busy
from autochron.errors import DeniedError, NetworkRefusedError
from autochron.isolation import denials
from autochron.isolation.background import SENDERS, is_called_by
from autochron.isolation.effect_rules import AllowedEffects
from autochron.project import line_of_project
from autochron.replaying.running import Running

if TYPE_CHECKING:
    from collections.abc import Callable

    from autochron.effects.live_state import LiveState
    from autochron.ports import Record
    from autochron.project import Project
    from autochron.replaying.director import Director

_DENIALS = 100
"""Most refusals that are reported. Further ones are refused all the same."""


def innermost() -> Any:
    """Return the innermost open crossing, possibly one of the parent process; None if none is open."""
    current = CURRENT.get(None)
    return current if current is None or current is not current.root else current.parent


def is_live(crossing: Any) -> bool:
    """Return whether a crossing is live; it may be None, or a crossing of another process."""
    if type(crossing) is Remote:
        return crossing.live
    running = None if crossing is None else crossing.record
    return isinstance(running, Running) and running.mode == "live"


class Refusals:
    """Raises the exceptions of refusals, and reports each refusal once as a divergence."""

    def __init__(
        self, isolated: denials.Isolation, director: Director, record: Record, project: Project
    ) -> None:
        self._isolation = isolated
        self._director = director
        self._record = record
        self._project = project
        self._denied = 0
        self.state: LiveState | None = None
        """The scratch copy; None if there is none."""
        self.allowed = AllowedEffects(())
        self.telemetry: Callable[[], tuple[str, ...]] = lambda: SENDERS
        """Returns the modules that send telemetry."""
        self._telemetry_notes: set[str] = set()
        self.refuses_all = False
        """Whether to refuse every change past the scratch copy that a line of the project makes."""

    def named(self, crossing: Any) -> tuple[str, str]:
        """Return a live crossing's address, and the line of its call."""
        if type(crossing) is Remote:
            if crossing.seq < 0:
                return "a live crossing of another process", ""
            envelope = self._record.get(crossing.seq)
            return envelope.address, envelope.site
        name, nth = crossing.record.entry.address
        return f"{name}[{nth}]", crossing.record.entry.site

    def live_around(self, crossing: Any) -> list[str]:
        """Return the addresses of the live ones among a crossing and the crossings around it, innermost first."""
        addresses = []
        while crossing is not None:
            if is_live(crossing):
                addresses.append(self.named(crossing)[0])
            crossing = None if type(crossing) is Remote else crossing.parent
        return addresses

    def guard_state(self, crossing: Any, event: str, arguments: tuple[Any, ...], *, live: bool) -> None:
        """Refuse a change of a file that was not redirected, for instance through a reference to an original function.

        Args:
            crossing: the innermost open crossing.
            event: the audit event.
            arguments: the event's arguments.
            live: whether the crossing is live.

        Raises:
            DeniedError: the change is refused.
        """
        state = self.state
        # The calls that `shutil` makes raise events of their own, and are redirected.
        if state is None or is_busy() or event in LISTS or event.startswith("shutil."):
            return
        phrase = denials.changes_of(self._isolation, event, arguments, getframe(3))
        if phrase is None:
            return
        if not (live or self.refuses_all or state.scratch.written or state.scratch.before):
            return
        paths = denials.paths_of(event, arguments)
        unredirected = [path for path in paths if state.covers(path) is False]
        if not unredirected or not (
            live
            or (self.refuses_all and line_of_project(self._project, 3) and any(map(is_state, unredirected)))
            or any(state.names_state([os.fsdecode(path)]) for path in unredirected)
        ):
            return
        address, site = self.named(crossing) if live else ("the program", "")
        line = line_of_project(self._project, 3)
        place = f"at {line}" if line else f"in {site}" if site else "outside the project"
        message = (
            f"{address} {phrase} {place} past the scratch copy that a replay works on, so it is refused; open it by Python's"
            " own `open` or `sqlite3.connect`, or have the crossing served"
        )
        self._note_denied(address, phrase, message)
        raise DeniedError(message)

    def guard_words(self, crossing: Any, event: str, arguments: tuple[Any, ...], child: str) -> None:
        """Refuse to start a program with a path of the scratch copy, which the program would look for on the disk.

        Args:
            crossing: the live crossing that starts it.
            event: the audit event.
            arguments: the event's arguments.
            child: the started process in words.

        Raises:
            DeniedError: a word of the command names such a path.
        """
        state = self.state
        if state is None:
            return
        word = state.names_state(denials.words_of(event, arguments))
        if word is None:
            return
        address, site = self.named(crossing)
        line = line_of_project(self._project, 3)
        place = f"at {line}" if line else f"in {site}"
        message = (
            f"{address} starts {child} with {word} {place}, and the replay has only a scratch copy of that, which another"
            " program doesn't see; do it in Python, or have the crossing served"
        )
        self._note_denied(address, f"starts {child}", message)
        raise DeniedError(message)

    def refuse_connection(self, place: str, address: str) -> None:
        """Refuse a connection outside every live crossing, unless a rule allows it.

        Raises:
            NetworkRefusedError: the connection is refused.
        """
        if self.allowed.include("host", address, place):
            return
        if is_called_by(getframe(2), self.telemetry()):
            message = f"a library that sends telemetry reaches for {address}, which is refused and changes nothing else"
            if message not in self._telemetry_notes:
                self._telemetry_notes.add(message)
                self._director.note("network", place, message, severity="notice")
            raise NetworkRefusedError(message)
        kind = "multiprocessing's socket " if f"{os.sep}pymp-" in address else ""
        message = (
            f"{place} reaches for {kind}{address} outside every live crossing;"
            " let a rule make the call a boundary, and record again"
        )
        self._director.note("network", place, message, path=address)
        raise NetworkRefusedError(message)

    def refuse_program(self, place: str, child: str) -> None:
        """Refuse a program that would repeat its effects for real, unless a rule allows it.

        Raises:
            DeniedError: the program is refused.
        """
        name = child.removeprefix("a child process of ")
        if self.allowed.include("program", name, place):
            return
        message = (
            f"{place} starts {child} outside every boundary, and a replay does not do that again; let a rule make the call a"
            f' boundary and record again, or let it be: [[effect]] program = "{name}" with a reason, or --allow-effects'
        )
        self._director.note("effect", place, message)
        raise DeniedError(message)

    def refuse_signal(self, place: str, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse a signal to a process that the replay has not started, unless effects are allowed.

        Raises:
            DeniedError: the signal is refused.
        """
        if not is_signal_to_others(event, arguments) or self.allowed.include("signal", "", place):
            return
        message = (
            f"{place} sends signal {int(arguments[1])} to process {int(arguments[0])} outside every boundary, and a replay"
            " does not do that again; let a rule make the call a boundary and record again, or give --allow-effects"
        )
        self._director.note("effect", place, message)
        raise DeniedError(message)

    def refuse_attached(self, path: str) -> None:
        """Report that attaching a database is refused. The program gets SQLite's own error `not authorized`."""
        crossing = innermost()
        address = self.named(crossing)[0] if is_live(crossing) else "the program"
        message = (
            f"{address} attaches the database {path}, which SQLite opens past the scratch copy, so it is refused; open it by"
            " a connection of its own, or have the crossing served"
        )
        self._note_denied(address, f"attaches {path}", message)

    def _note_denied(self, address: str, phrase: str, message: str) -> None:
        """Report a refused change of a file, if it is new and not one too many."""
        if self._isolation.is_new(address, denials.Reached("files", phrase)) and self._denied < _DENIALS:
            self._denied += 1
            self._director.note("denied", address, message, severity="error")

    def refusal(self, crossing: Any, reached: denials.Reached) -> DeniedError:
        """Report a denied access of a live crossing; return the exception to raise."""
        address, site = self.named(crossing)
        message = self._isolation.refusal(reached, address, site)
        if self._isolation.is_new(address, reached) and self._denied < _DENIALS:
            self._denied += 1
            self._director.note("denied", address, message, severity="error")
        return DeniedError(message)

    def refuses_writing(self, path: str) -> bool:
        """Return whether to refuse a change of a database by the running code; a refusal is reported."""
        crossing = innermost()
        if not is_live(crossing):
            return False
        self.refusal(crossing, self._isolation.writing(path))
        return True
