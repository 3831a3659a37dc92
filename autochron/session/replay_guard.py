"""Listen to the audit events of a replayed program, and refuse effects that a replay must not repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autochron._runtime import unpatched
from autochron._runtime.unpatched import getframe, os
from autochron.effects.events import SIGNAL_EVENTS, STATE_EVENTS, TEMPORARY_EVENTS
from autochron.effects.live_state import is_temporary
from autochron.isolation import denials, network
from autochron.isolation.process_starts import takes_part
from autochron.isolation.refusals import innermost, is_live
from autochron.session.session import place_in

if TYPE_CHECKING:
    from types import FrameType

    from autochron.instrument.activation import Activation
    from autochron.isolation.refusals import Refusals
    from autochron.isolation.replayed_effects import ReplayedEffects
    from autochron.replaying.director import Director
    from autochron.replaying.plan import ReplayPlan
    from autochron.session.replayed_processes import ReplayedProcesses

_EXEC = "os.exec"
_NATIVE = "ctypes.dlopen"

EVERYWHERE = frozenset({_EXEC, _NATIVE})
"""Audit events to listen to, too, if the whole program works on a scratch copy."""

EFFECTS = STATE_EVENTS | TEMPORARY_EVENTS | SIGNAL_EVENTS
"""Audit events of changes outside the process."""


class ReplayGuard:
    """Refuses effects of a replayed program: connections, programs, signals and changes of files.

    Outside live crossings it refuses all, and inside them what is denied.

    Attributes:
        outside: notes what the program changes outside live crossings; None if that is not compared.
    """

    def __init__(
        self,
        refusals: Refusals,
        isolation: denials.Isolation,
        processes: ReplayedProcesses,
        director: Director,
        plan: ReplayPlan,
        activation: Activation,
        *,
        everywhere: bool,
        is_joined: bool,
    ) -> None:
        """Make one.

        Args:
            refusals: refuses and notes.
            isolation: knows what the plan denies to live crossings.
            processes: starts child processes.
            director: notes divergences.
            plan: what is live, and what is denied.
            activation: the rules in force, and the project.
            everywhere: whether the whole program works on a scratch copy, and not only live crossings.
            is_joined: whether this process is a child of another one of the replay.
        """
        self.outside: ReplayedEffects | None = None
        self._refusals = refusals
        self._isolation = isolation
        self._processes = processes
        self._director = director
        self._plan = plan
        self._activation = activation
        self._everywhere = everywhere
        self._is_joined = is_joined
        self._process = unpatched.getpid()
        self._native: set[str] = set()
        """The lines of the project that load a library of C, each noted once."""

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse what reaches out of the process outside live crossings, and inside them what is denied.

        A child process that takes part may start.

        Args:
            event: name of the audit event.
            arguments: arguments of the audit event.

        Raises:
            DeniedError, NetworkRefusedError, UnwovenToolError: it is refused.
        """
        crossing = innermost()
        live = is_live(crossing)
        if event in TEMPORARY_EVENTS:
            self._note_temporary(arguments)
        if live and self._plan.deny:
            self._deny(crossing, event, arguments, getframe(2))
        if event == _NATIVE:
            self._note_native()
            return
        if event in EFFECTS:
            self._guard_effect(crossing, event, arguments, live=live)
            return
        if event == _EXEC:
            self._guard_exec(arguments, live=live)
            return
        child = network.child_of(event, arguments)
        if child is not None:
            watched = self._isolation.is_partial
            self._processes.guard(
                crossing, event, arguments, child, live=live, everywhere=self._everywhere, watched=watched
            )
        elif not live and network.is_network(event):
            address = network.address_of(event, arguments)
            if address is not None:
                self._refusals.refuse_connection(self._place(), address)

    def take_over(self) -> None:
        """Go on in a fork, in the place of the process that was guarded so far."""
        self._process = unpatched.getpid()

    def _place(self) -> str:
        return place_in(self._activation.project)

    def _guard_effect(self, crossing: Any, event: str, arguments: tuple[Any, ...], *, live: bool) -> None:
        """Refuse changes of files that bypass the scratch copy, and signals. Note changes that go to the copy."""
        if self.outside is not None and not live:
            self.outside.heard(event, arguments)
        if event in SIGNAL_EVENTS:
            if not live and self._everywhere:
                self._refusals.refuse_signal(self._place(), event, arguments)
        elif event in STATE_EVENTS and "files" not in self._plan.deny:
            self._refusals.guard_state(crossing, event, arguments, live=live)

    def _note_native(self) -> None:
        """Note once that a line of the project calls a library of C, whose changes nobody sees."""
        frame: Any = getframe(3)
        while frame is not None and str(frame.f_globals.get("__name__")).startswith(
            ("ctypes", "autochron._runtime.audit")
        ):
            frame = frame.f_back
        project = self._activation.project
        if frame is None or not project.owns(frame.f_code.co_filename):
            return
        place = f"{project.name(frame.f_code.co_filename)}:{frame.f_lineno}"
        if place not in self._native:
            self._native.add(place)
            message = (
                f"{place} calls a library of C by ctypes: what that changes is not seen, and happens for real"
            )
            self._director.note("unwatched", place, message, severity="warning")

    def _guard_exec(self, arguments: tuple[Any, ...], *, live: bool) -> None:
        """Refuse that a forked process becomes another program, as in `os.spawnvp`."""
        is_fork = self._is_joined or unpatched.getpid() != self._process
        if not live and is_fork and not takes_part(_EXEC, arguments) and network.can_run(arguments[0]):
            name = os.path.basename(network.text_of(arguments[0]))
            self._refusals.refuse_program(self._place(), f"a child process of {name}")

    def _deny(self, crossing: Any, event: str, arguments: tuple[Any, ...], frame: FrameType | None) -> None:
        """Refuse what is denied to a live crossing. It is an error even if the program catches the exception."""
        reached = self._isolation.reached(event, arguments, frame)
        if reached is None:
            if event == _EXEC and self._isolation.is_partial and network.can_run(arguments[0]):
                does = denials.started(event, arguments)
                self._processes.note_unwatched(self._refusals.named(crossing)[0], str(does))
            return
        raise self._refusals.refusal(crossing, reached)

    def _note_temporary(self, arguments: tuple[Any, ...]) -> None:
        """Leave a temporary file out of the scratch copy, unless it is made in the project."""
        path, state = os.fsdecode(arguments[0]), self._refusals.state
        if state is not None and is_temporary(path, (self._activation.rules.root, os.curdir)):
            state.scratch.leave_alone(os.path.realpath(path))
