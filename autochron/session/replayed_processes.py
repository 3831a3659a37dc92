"""The processes that a replayed program starts: those that join are served, and the others are noted or refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.crossing import processes
from autochron.crossing.crossing import is_inside
from autochron.crossing.lanes import Remote
from autochron.errors import UnwovenToolError
from autochron.isolation import network
from autochron.isolation.process_starts import find_pth_file, spawned_by_fork, takes_part
from autochron.isolation.refusals import is_live
from autochron.replaying.child_reports import ChildEvent, ChildReport, read_lanes
from autochron.replaying.lookup import parent_of
from autochron.replaying.replay_folder import ReplayFolder
from autochron.session.children import (
    UNKNOWN,
    ChildContext,
    Children,
    StartedProcess,
    unmanaged_processes,
)
from autochron.session.session import place_in

if TYPE_CHECKING:
    from autochron.crossing.lanes import LaneRoot
    from autochron.instrument.activation import Activation
    from autochron.instrument.swap import Swap
    from autochron.isolation.refusals import Refusals
    from autochron.ports import Record
    from autochron.replaying.director import Director
    from autochron.replaying.plan import ReplayPlan
    from autochron.session.children import Owner


class JoinedLane(NamedTuple):
    """The part of a trace that a child process of a replay serves: one lane.

    Attributes:
        lane: the lane.
        context: the context of the processes that the child process starts.
        parent: the crossing in which the child process was started.
    """

    lane: str
    context: ChildContext
    parent: Remote | None


class ReplayedProcesses:
    """Starts, serves and gathers the processes of a replay.

    Attributes:
        children: hands child processes their contexts; None if the trace has no child processes.
    """

    def __init__(
        self,
        director: Director,
        record: Record,
        plan: ReplayPlan,
        activation: Activation,
        refusals: Refusals,
        swaps: tuple[Swap, ...],
        problem: Callable[[str], None],
    ) -> None:
        """Make one.

        Args:
            director: serves, and notes divergences.
            record: the record that is served.
            plan: what is live, and what is denied.
            activation: the rules in force, and the project.
            refusals: refuses programs.
            swaps: the functions that are replaced.
            problem: called with a message if something is wrong on our side.
        """
        self.children: Children | None = None
        self._director = director
        self._record = record
        self._plan = plan
        self._activation = activation
        self._refusals = refusals
        self._swaps = swaps
        self._problem = problem
        self._folder: ReplayFolder | None = None
        """The folder that processes read the replay from and report to. Only the first process has it."""
        self._is_laid_out = True
        """Whether the folder is that of this process, and not of the one that it was forked from."""
        self._snapshots: list[str] = []
        self._report: ChildReport | None = None
        """The report of this process to the first one; None in the first one."""
        self._noted: set[tuple[str, str]] = set()
        """What was noted, so that each is noted once: the process or crossing, and the place or message."""

    def join(self, owner: Owner, joined: JoinedLane, forked: Callable[[LaneRoot | None], None]) -> None:
        """Take part in the replay of the process that started this one."""
        self.children = Children(owner, joined.context, parent_of, forked)

    def lay_out(self, owner: Owner, snapshots: list[str], forked: Callable[[LaneRoot | None], None]) -> None:
        """Have the processes served that the program starts.

        Args:
            owner: the session.
            snapshots: folders with the contents of the trace's snapshots.
            forked: called in a forked process with its lane.
        """
        self._snapshots = snapshots
        self._folder = self._make_folder()
        self.children = Children(owner, self._context(self._folder), parent_of, forked)
        self.children.before_first = self._folder.fill

    def _make_folder(self) -> ReplayFolder:
        swaps = [(swap.old, swap.new if isinstance(swap.new, str) else None) for swap in self._swaps]
        return ReplayFolder(self._record, self._plan, swaps)

    def _context(self, folder: ReplayFolder) -> ChildContext:
        """Return the context of the processes that the replayed program starts."""
        state, rules, header = self._refusals.state, self._activation.rules, self._record.header
        return ChildContext(
            mode="replay",
            process=unpatched.getpid(),
            place=folder.path,
            trace=header.id,
            rules=rules.file,
            root=rules.root,
            digest=header.rules,
            program=self._activation.program,
            project=rules.project,
            scratch=None if state is None else state.scratch.folder,
            snapshots=tuple(self._snapshots),
        )

    @property
    def have_started(self) -> bool:
        """Whether the program has started any process."""
        return self.children is not None and self.children.has_started

    def is_alone(self) -> bool:
        """Return whether no process that the program started is expected to join."""
        return self.children is None or not self.children.started

    # --- a process starts --------------------------------------------------------------------------------------------

    def guard(
        self,
        crossing: Any,
        event: str,
        arguments: tuple[Any, ...],
        child: str,
        *,
        live: bool,
        everywhere: bool,
        watched: bool,
    ) -> None:
        """Let a process start that joins, or that something live starts. Refuse or note every other.

        Args:
            crossing: the innermost open one, which is live or not.
            event: name of the audit event.
            arguments: arguments of the audit event.
            child: the process in words.
            live: whether something live starts it.
            everywhere: whether the whole program works on a scratch copy.
            watched: whether something is denied to live crossings that can be refused only in processes that join.

        Raises:
            UnwovenToolError: it is refused.
        """
        if live or everywhere:
            spawned = spawned_by_fork(event)
            if spawned is not None:
                child = f"a child process of {os.path.basename(network.text_of(spawned[0]))}"
            started = (event, arguments) if spawned is None else ("os.posix_spawn", spawned)
            joins = self.children is not None and takes_part(*started)
            if live and not joins:
                self._refusals.guard_words(crossing, *started, child)
            elif not live and self.children is None:
                self._refusals.refuse_program(self._place(), child)
                return  # an allowed effect: the refusal did not raise
            elif not live and not joins and self.children is not None:
                self._start_unmanaged(self.children, event, arguments, child)
                return
        starter = self._refusals.named(crossing)[0] if live else None
        self._start(event, arguments, child, starter=starter, watched=watched)

    def _start_unmanaged(
        self, children: Children, event: str, arguments: tuple[Any, ...], child: str
    ) -> None:
        """Let a program start that starts recorded Python processes, such as a shell. Refuse every other."""
        self._share_scratch()
        lane = children.start(event, arguments, child, is_reported=False)
        if lane is not None:
            self._refuse_uninstalled(child, lane)
            if self._is_recorded(lane) or any(
                f"{lane}/{UNKNOWN}" in envelope.lane for envelope in self._record
            ):
                return
        self._refusals.refuse_program(self._place(), child)

    def _start(
        self, event: str, arguments: tuple[Any, ...], child: str, *, starter: str | None, watched: bool
    ) -> None:
        """Let a child process start; `starter` is the address of the live crossing that starts it, if there is one."""
        self._share_scratch()
        is_reported = starter is None and not is_inside()
        denied_crossing = starter if starter is not None and watched else None
        # The shell's own commands are not seen, even if it starts processes that join.
        if denied_crossing is not None and (self.children is None or event == "os.system"):
            self.note_unwatched(denied_crossing, f"starts {child}")
            denied_crossing = None
        if self.children is not None:
            lane = self.children.start(
                event,
                arguments,
                child,
                is_reported=is_reported or denied_crossing is not None,
                denied_crossing=denied_crossing or "",
            )
            if lane is not None and starter is None:
                self._refuse_uninstalled(child, lane)
        elif is_reported:
            self._note_started(child, self._place())

    def _share_scratch(self) -> None:
        """Have the content of the scratch copy written to disk, where other processes see it."""
        if self._refusals.state is not None:
            self._refusals.state.scratch.is_shared = True

    def _refuse_uninstalled(self, child: str, lane: str) -> None:
        """Refuse to start a recorded process that could not join and would do for real what it did."""
        if find_pth_file() is None and self._is_recorded(lane):
            place = self._place()
            message = (
                f"{child} would be started for real at {place}: it was recorded, and autochron is not installed here so that"
                " it is found by programs that are started (no folder of sys.path has autochron_children.pth); install it"
            )
            self._director.note("child", place, message)
            raise UnwovenToolError(message)

    def _is_recorded(self, lane: str) -> bool:
        return any(f"{envelope.lane}/".startswith(f"{lane}/") for envelope in self._record)

    def _place(self) -> str:
        return place_in(self._activation.project)

    # --- forks -------------------------------------------------------------------------------------------------------

    def forked(self, root: LaneRoot) -> Remote | None:
        """Go on in a forked process; return the crossing in which it was forked."""
        self.report_to_first(root.lane)
        self._share_scratch()
        if self.children is not None:
            self.children.started.clear()
        seq = parent_of(root.parent)
        return None if seq is None else Remote(seq, collapses=root.collapses, live=is_live(root.parent))

    def report_to_first(self, lane: str) -> None:
        """Have what is noted in this process reported to the first one."""
        assert self.children is not None  # noqa: S101 - a process that reports has been given a context
        self._report = ChildReport(self.children.context.place, lane)
        self._director.serve_child(self._report, lane)

    def pause(self, *, for_several: bool = False) -> None:
        """Pay no attention to processes until a fork of this process goes on.

        The forks are ours and no part of the program. Each of them gets a new folder.

        Args:
            for_several: whether several may go on at one time, so that each has to make its folder itself.
        """
        if self._folder is not None and self.children is not None:
            self._folder.remove()
            self._is_laid_out = not for_several
            if not for_several:
                self._lay_out_anew(self.children)
            processes.attend(None)

    def resume(self) -> None:
        """Pay attention to processes again, in a fork of the process that paused."""
        if self.children is not None:
            if self._folder is not None and not self._is_laid_out:
                self._lay_out_anew(self.children)
            processes.attend(self.children)

    def _lay_out_anew(self, children: Children) -> None:
        """Choose another folder, and have the processes that the program starts use it."""
        self._folder, self._is_laid_out = self._make_folder(), True
        children.context = self._context(self._folder)
        children.before_first = self._folder.fill
        if processes.VARIABLE in os.environ:  # the program may have removed it
            children.begin()

    def clear(self) -> None:
        """Remove the folder of a fork that could not: a process that it started may have gone on writing there."""
        if self._folder is not None:
            self._folder.clear()

    def remove(self) -> None:
        """Remove the folder."""
        if self._folder is not None:
            self._folder.remove()

    # --- the end -----------------------------------------------------------------------------------------------------

    def leave(self, problems: Iterable[str]) -> None:
        """Report in a child process that it ends.

        Args:
            problems: what went wrong on our side.
        """
        report = self._report
        if report is None:
            return
        self._director.state.end_streams()
        for problem in problems:
            report.write(ChildEvent(kind="problem", text=problem))
        for swap in self._swaps:
            if swap.fault:
                self._director.note("missing", swap.old, swap.fault, severity="error")
            if swap.calls:
                report.write(ChildEvent(kind="swapped", text=swap.old))
        if self.children is not None:
            self._note_unmanaged(self.children.started, read_lanes(self.children.context.place))
        report.write(ChildEvent(kind="ended"))

    def gather(self) -> tuple[str, ...]:
        """Merge the reports of the processes into this one.

        Returns:
            The lanes of the processes that are still running, each with a slash at its end.
        """
        folder, children = self._folder, self.children
        if folder is None:
            return ()
        if children is None or not children.has_started:
            folder.remove()
            return ()
        expected = [
            process.lane
            for process in children.started
            if not process.denied_crossing and self._is_recorded(process.lane)
        ]
        reports, running = folder.gather(expected)
        for events in reports:
            self._director.merge(events)
            for event in events:
                if event.kind == "problem":
                    self._problem(event.text)
                for swap in self._swaps if event.kind == "swapped" else ():
                    swap.calls += swap.old == event.text
        self._note_unmanaged(children.started, {events[0].lane for events in reports})
        for lane in running:
            message = f"the process of lane {lane} was still running when the program ended, so its rest was not compared"
            self._director.note("child", lane, message, severity="warning")
        folder.remove()
        return tuple(f"{lane}/" for lane in running)

    def _note_unmanaged(self, started: Iterable[StartedProcess], lanes: Collection[str]) -> None:
        for process in unmanaged_processes(started, lanes):
            if process.denied_crossing:
                self.note_unwatched(process.denied_crossing, f"starts {process.description}", process.place)
            else:
                self._note_started(process.description, process.place)

    def _note_started(self, child: str, place: str) -> None:
        message = f"{child} was started again for real at {place}; make the call a boundary, and record again"
        if (child, place) not in self._noted:
            self._noted.add((child, place))
            self._director.note("child", place, message, severity="warning")

    def note_unwatched(self, starter: str, action: str, place: str | None = None) -> None:
        """Note that a live crossing starts a process from which we can't keep what is denied.

        Args:
            starter: address of the crossing.
            action: what it does, in words.
            place: the line that does it; by default the one that is running.
        """
        denied = " and ".join(sorted(self._plan.deny))
        message = (
            f"{starter} {action} at {place or self._place()}, where it is not seen whether it reaches for what is denied"
            f" ({denied}): only Python processes that take part in the replay are kept from it; deny subprocess, too, or have"
            " it served"
        )
        if (starter, message) not in self._noted:
            self._noted.add((starter, message))
            self._director.note("child", starter, message, severity="notice")
