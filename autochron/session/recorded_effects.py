"""Listen to the audit events of a recorded program, and note what it does outside every boundary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import structs

from autochron._runtime.unpatched import getframe, os
from autochron.crossing.crossing import is_inside
from autochron.effects.events import LISTS, SIGNAL_EVENTS, STATE_EVENTS, TEMPORARY_EVENTS
from autochron.effects.undisturbed import is_busy, undisturbed
from autochron.isolation import network
from autochron.isolation.background import keeps_books
from autochron.model import Connection, FileRead, OutsideEffect, Snapshot, Unwoven
from autochron.project import function_of_project
from autochron.session.footer import unmanaged_reason
from autochron.session.session import place_in

if TYPE_CHECKING:
    from autochron.effects.keeper import StateKeeper
    from autochron.effects.outside import OutsideEffects
    from autochron.instrument.activation import Activation
    from autochron.recording.recorder import Recorder
    from autochron.session.children import Children

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_EVENTS = STATE_EVENTS | TEMPORARY_EVENTS | SIGNAL_EVENTS


class RecordedEffects:
    """What a process of a recorded program does outside every boundary.

    Attributes:
        noted: ledger entries: what is not in the trace, and why.
        connections: network connections, each with the line that made it.
        unseen: paths of standard streams that are not captured at their descriptors, with the stream's name.
        watched: the audit events to listen to besides those of connections and processes.
        knows: whether effects are noted at all.
        keeps_state: whether the contents of files are kept that the program is about to write.
        children: hands child processes their contexts; None if they are not recorded.
        recorder: gets to know of effects inside crossings.
        of_call: returns the effects of the traced call that is running; None if calls have no traces of their own.
    """

    def __init__(
        self,
        activation: Activation,
        url: str | None,
        began: int,
        problem: Callable[[str], None],
        *,
        is_part: bool,
    ) -> None:
        """Make one.

        Args:
            activation: the rules in force, and the project.
            url: URL by which another process opens the store; None if none can. Then no contents of files are kept.
            began: when the trace began, in nanoseconds.
            problem: called with a message if something is wrong on our side.
            is_part: whether the trace is one of a call, beside that of the process.
        """
        self.noted: dict[Unwoven, None] = {}
        self.connections: dict[Connection, None] = {}
        self.unseen: Mapping[Any, str] = MappingProxyType({})
        self.knows = url is not None and not is_part
        self.keeps_state = url is not None and (activation.rules.snapshot or bool(activation.rules.snapshots))
        self.watched: frozenset[str] = frozenset()
        if self.knows:
            self.watched = _EVENTS
        elif self.keeps_state:
            self.watched = STATE_EVENTS
        self.children: Children | None = None
        self.recorder: Recorder | None = None
        self.of_call: Callable[[], RecordedEffects | None] | None = None
        self._activation = activation
        self._url = url
        self._began = began
        self._problem = problem
        self._looked_up: frozenset[tuple[str, str]] = frozenset()
        """Lines that have looked up a host name, each with the port."""
        self._keeper: StateKeeper | None = None
        """Keeps the contents of files that the program is about to write; None as long as it opens none."""
        self._outside: OutsideEffects | None = None
        """Notes what the program changes outside every boundary; None as long as it changes nothing."""

    def forget(self) -> None:
        """Forget what was noted, in a forked process: the parent reports it."""
        self.noted.clear()
        self.connections.clear()
        self._keeper = None
        self._outside = None

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a connection, a child process, or a change of files outside the process.

        Args:
            event: name of the audit event.
            arguments: arguments of the audit event.
        """
        if event in self.watched:
            if self.knows and event not in LISTS:
                self._note_effect(event, arguments)
            if event in STATE_EVENTS and self.keeps_state:
                self._keep_state(event, arguments)
            return
        child = None if is_busy() else network.child_of(event, arguments)
        if child is not None and self.children is not None:
            try:
                self.children.start(event, arguments, child, is_reported=not is_inside())
            except Exception as error:  # a fault of ours must not keep the program from starting it
                self._problem(f"{child} is not recorded: {type(error).__name__}: {error}")
        elif is_inside():
            return
        elif child is not None:
            self.noted[Unwoven(child, unmanaged_reason(self._place()), "child-process")] = None
        elif network.is_network(event):
            address = network.address_of(event, arguments)
            if address is not None:
                self._note_connection(event, address)

    def _place(self) -> str:
        return place_in(self._activation.project)

    def _note_connection(self, event: str, address: str) -> None:
        """Note a connection or a look-up of a name outside every crossing.

        A line that has looked up a name is not noted again for the connection to the address of that name.
        """
        place, port = self._place(), address.rpartition(":")[2]
        if event == "socket.getaddrinfo":
            self._looked_up |= {(place, port)}
        elif (place, port) in self._looked_up and address[:1].isdigit():
            return
        self.connections[Connection(address, place)] = None

    def _note_effect(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a change that is about to happen outside every boundary."""
        if is_busy():
            return
        if event == "open":
            path = arguments[0]
            if self.unseen and path in self.unseen:
                reason = f"opened anew at {self._place()}: what passes there is not recorded"
                self.noted[Unwoven(self.unseen[path], reason, "unseen-stream")] = None
                return
            if not _writes(arguments):
                return
        try:
            with undisturbed():
                in_crossing = is_inside()
                if self._outside is None and not in_crossing:
                    self._outside = self._make_outside()
                if self._outside is not None:
                    self._outside.heard(event, arguments, inside=in_crossing)
        except Exception as error:  # a fault of ours must not keep the program from it
            self._problem(
                f"an effect outside every boundary is not noted: {type(error).__name__}: {error} (no-effect)"
            )

    def _make_outside(self) -> OutsideEffects:
        from autochron.effects.outside import (
            OutsideEffects,
        )  # lazy: most programs change nothing outside a boundary

        activation = self._activation
        project = activation.project
        outside = OutsideEffects(
            project.name,
            lambda: function_of_project(project),
            own=self._own_files(),
            keeps_books=lambda: keeps_books(getframe(1), activation.rules.packs, project.owns),
        )
        if self.recorder is not None:
            self.recorder.outside = outside
        return outside

    def _own_files(self) -> list[str]:
        """Return the files that belong to autochron."""
        return [(self._url or "").removeprefix("sqlite:///")]

    def _keep_state(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Keep the content of a file that the program is about to write, and note what it reads inside a boundary."""
        if is_busy():
            return
        # Outside every boundary only what a boundary may write later matters: a database, or a file that is left open.
        keeps_all = self._keeper is not None or self._activation.rules.snapshots or is_inside()
        if not keeps_all and (event in LISTS or (event == "open" and not _writes(arguments))):
            return
        of_call = None if self.of_call is None else self.of_call()
        try:
            with undisturbed():
                keeper = (of_call or self).keeper()
            keeper.heard(event, arguments)
        except Exception as error:  # a fault of ours must not keep the program from it
            self._problem(
                f"what it was about to change is not kept: {type(error).__name__}: {error} (no-snapshot)"
            )

    def keeper(self) -> StateKeeper:
        """Return the keeper of this trace's file contents, which is made on demand."""
        if self._keeper is None:
            from autochron.effects.keeper import StateKeeper  # lazy: most programs open no file to write
            from autochron.effects.snapshots import folder_of_store

            rules, url = self._activation.rules, self._url
            folder = folder_of_store(url)
            assert url is not None and folder is not None  # noqa: S101, PT018 - called only if contents are kept
            self._keeper = StateKeeper(
                folder,
                rules.root or os.getcwd(),
                rules=rules.snapshots,
                automatic=rules.snapshot,
                own=self._own_files(),
                is_inside=is_inside,
                began=self._began,
            )
        return self._keeper

    def count_kept(self) -> int:
        """Return the number of files whose contents were kept."""
        return len(self._keeper or ())

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return the contents that were kept."""
        return () if self._keeper is None else self._keeper.snapshots()

    def reads(self) -> tuple[FileRead, ...]:
        """Return the files that were read inside boundaries."""
        return () if self._keeper is None else self._keeper.reads()

    def effects(self) -> tuple[OutsideEffect, ...]:
        """Return the changes outside every boundary, each with the rule that nearly fits."""
        if self._outside is None:
            return ()
        from autochron.diagnostics.near_rules import (
            near_rule,
        )  # lazy: most programs change nothing outside a boundary

        rules = self._activation.rules
        try:
            effects = self._outside.effects()
        except Exception as error:  # the program may have replaced functions of `os`
            self._problem(
                f"what changed outside of boundaries is not known: {type(error).__name__}: {error} (unlooked)"
            )
            return ()
        return tuple(structs.replace(effect, near=near_rule(rules, effect.function)) for effect in effects)

    def unmatched_snapshots(self) -> list[Unwoven]:
        """Return a ledger entry for each [[snapshot]] table that has no effect."""
        if not self._activation.rules.snapshots or not self.keeps_state:
            return []
        reason = "there is nothing of that name, and nothing opened it; write the path from the rules' folder"
        return [
            Unwoven(
                f"[[snapshot]] {snapshot_rule.path}",
                f"{snapshot_rule.place}: {reason}",
                "snapshot-without-match",
            )
            for snapshot_rule in self.keeper().unmatched()
        ]


def _writes(arguments: tuple[Any, ...]) -> bool:
    """Return whether an `open` event is for writing a file that is no bytecode."""
    path, _, flags = (*arguments, None, 0)[:3]
    return bool((flags or 0) & _WRITES) and "__pycache__" not in str(path)
