"""The processes that a replayed program starts: those that take part are served, and the others noted or refused."""

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
from autochron.isolation.refusals import is_live
from autochron.replaying.child_reports import ChildEvent, ChildReport, read_lanes
from autochron.replaying.lookup import parent_of
from autochron.replaying.replay_folder import ReplayFolder
from autochron.session.children import (
    UNKNOWN,
    Children,
    Handing,
    Started,
    find_line,
    spawned_by_fork,
    strangers,
    takes_part,
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
        handing: what the processes are told that it starts.
        parent: the crossing that it was started in.
    """

    lane: str
    handing: Handing
    parent: Remote | None


class ReplayedProcesses:
    """Starts, serves and gathers the processes of a replay.

    Attributes:
        children: tells the processes that start which part of the trace is theirs; None where the trace has none.
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
        """Take what is served, what refuses programs, and who is told what is wrong on our side."""
        self.children: Children | None = None
        self._director = director
        self._record = record
        self._plan = plan
        self._activation = activation
        self._refusals = refusals
        self._swaps = swaps
        self._problem = problem
        self._folder: ReplayFolder | None = None
        """What the processes read and report to; of the first process only."""
        self._snapshots: list[str] = []
        self._report: ChildReport | None = None
        """What this process reports to the first one; None in that one."""
        self._noted: set[tuple[str, str]] = set()
        """What was noted, each once: who and what."""

    def join(self, owner: Owner, joined: JoinedLane, forked: Callable[[LaneRoot | None], None]) -> None:
        """Take part in the replay of another process, which started this one."""
        self.children = Children(owner, joined.handing, parent_of, forked)

    def lay_out(self, owner: Owner, snapshots: list[str], forked: Callable[[LaneRoot | None], None]) -> None:
        """Have the processes served that the program starts; `snapshots` are folders with the contents of files."""
        self._snapshots = snapshots
        self._folder = self._make_folder()
        self.children = Children(owner, self._handing(self._folder), parent_of, forked)
        self.children.before_first = self._folder.fill

    def _make_folder(self) -> ReplayFolder:
        swaps = [(each.old, each.new if isinstance(each.new, str) else None) for each in self._swaps]
        return ReplayFolder(self._record, self._plan, swaps)

    def _handing(self, folder: ReplayFolder) -> Handing:
        """Return what the processes are told that the replayed program starts."""
        state, rules, header = self._refusals.state, self._activation.rules, self._record.header
        return Handing(
            mode="replay",
            process=unpatched.getpid(),
            place=folder.path,
            trace=header.id,
            rules=rules.file,
            root=rules.root,
            digest=header.rules,
            program=self._activation.program,
            scratch=None if state is None else state.scratch.folder,
            snapshots=tuple(self._snapshots),
        )

    @property
    def have_started(self) -> bool:
        """Whether the program has started any."""
        return self.children is not None and self.children.has_started

    def is_alone(self) -> bool:
        """Return whether none that the program started is at work."""
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
        """Let a process start that takes part, or that something live starts; refuse or note every other.

        Args:
            crossing: the innermost open one, which is live or not.
            event, arguments: the audit event.
            child: the process in words.
            live: whether something live starts it.
            everywhere: whether the whole program works on a scratch copy.
            watched: whether what is denied to live crossings can be refused only in processes that take part.
        """
        if live:
            comes = self.children is not None and find_line() is not None and "python" in child
            if not comes:
                self._refusals.guard_words(crossing, event, arguments, child)
        elif everywhere:
            spawned = spawned_by_fork(event)
            if spawned is not None:
                child = f"a child process of {os.path.basename(network.text_of(spawned[0]))}"
            if self.children is None:
                self._refusals.refuse_program(self._place(), child)
                return  # it is let be
            if not takes_part(*((event, arguments) if spawned is None else ("os.posix_spawn", spawned))):
                self._start_unmanaged(self.children, event, arguments, child)
                return
        by = self._refusals.named(crossing)[0] if live else None
        self._start(event, arguments, child, by=by, watched=watched)

    def _start_unmanaged(
        self, children: Children, event: str, arguments: tuple[Any, ...], child: str
    ) -> None:
        """Let a program start that starts Python processes which were recorded, such as a shell; refuse every other."""
        self._share_scratch()
        lane = children.start(event, arguments, child, told_of=False)
        if lane is not None:
            self._refuse_uninstalled(child, lane)
            if self._is_recorded(lane) or any(f"{lane}/{UNKNOWN}" in each.lane for each in self._record):
                return
        self._refusals.refuse_program(self._place(), child)

    def _start(
        self, event: str, arguments: tuple[Any, ...], child: str, *, by: str | None, watched: bool
    ) -> None:
        """Let a child process start; `by` is the live crossing that it starts in."""
        self._share_scratch()
        told_of = by is None and not is_inside()
        watched_by = by if by is not None and watched else None
        # A shell does what it does itself, whatever it starts.
        if watched_by is not None and (self.children is None or event == "os.system"):
            self.note_unwatched(watched_by, f"starts {child}")
            watched_by = None
        if self.children is not None:
            lane = self.children.start(
                event, arguments, child, told_of=told_of or watched_by is not None, by=watched_by or ""
            )
            if lane is not None and by is None:
                self._refuse_uninstalled(child, lane)
        elif told_of:
            self._note_started(child, self._place())

    def _share_scratch(self) -> None:
        """Have what is on the scratch copy written where other processes see it."""
        if self._refusals.state is not None:
            self._refusals.state.scratch.is_shared = True

    def _refuse_uninstalled(self, child: str, lane: str) -> None:
        """Refuse to start a process that was recorded and would now do for real what it did."""
        if find_line() is None and self._is_recorded(lane):
            place = self._place()
            message = (
                f"{child} would be started for real at {place}: it was recorded, and autochron is not installed here so that"
                " it is found by programs that are started (no folder of sys.path has autochron_children.pth); install it"
            )
            self._director.note("child", place, message)
            raise UnwovenToolError(message)

    def _is_recorded(self, lane: str) -> bool:
        return any(f"{each.lane}/".startswith(f"{lane}/") for each in self._record)

    def _place(self) -> str:
        return place_in(self._activation.project)

    # --- forks -------------------------------------------------------------------------------------------------------

    def forked(self, root: LaneRoot) -> Remote | None:
        """Go on in a forked process; return the crossing that it was forked in."""
        self.report_to_first(root.lane)
        self._share_scratch()
        if self.children is not None:
            self.children.started.clear()
        seq = parent_of(root.parent)
        return None if seq is None else Remote(seq, collapses=root.collapses, live=is_live(root.parent))

    def report_to_first(self, lane: str) -> None:
        """Have what is noted in this process reported to the first one."""
        assert self.children is not None  # noqa: S101 - what it is a child of
        self._report = ChildReport(self.children.handing.place, lane)
        self._director.serve_child(self._report, lane)

    def pause(self) -> None:
        """Hear of no process until a fork goes on: forks are no part of the program here, and get a folder anew."""
        if self._folder is not None and self.children is not None:
            self._folder.remove()
            self._folder = self._make_folder()
            self.children.handing = self._handing(self._folder)
            self.children.before_first = self._folder.fill
            self.children.begin()
            processes.attend(None)

    def resume(self) -> None:
        """Hear of processes again, in a fork of the one that paused."""
        if self.children is not None:
            processes.attend(self.children)

    def clear(self) -> None:
        """Remove what a fork has left that could not: a process that it started may still have written there."""
        if self._folder is not None:
            self._folder.clear()

    def remove(self) -> None:
        """Remove what was laid out for the processes."""
        if self._folder is not None:
            self._folder.remove()

    # --- the end -----------------------------------------------------------------------------------------------------

    def leave(self, problems: Iterable[str]) -> None:
        """Report in a child process that it has come to its end."""
        report = self._report
        if report is None:
            return
        self._director.state.end_streams()
        for problem in problems:
            report.tell(ChildEvent(kind="problem", text=problem))
        for swap in self._swaps:
            if swap.fault:
                self._director.note("missing", swap.old, swap.fault, severity="error")
            if swap.calls:
                report.tell(ChildEvent(kind="swapped", text=swap.old))
        if self.children is not None:
            self._note_unmanaged(self.children.started, read_lanes(self.children.handing.place))
        report.tell(ChildEvent(kind="ended"))

    def gather(self) -> tuple[str, ...]:
        """Take in what the processes reported; return the lanes of those that are still at work, each with a slash."""
        folder, children = self._folder, self.children
        if folder is None:
            return ()
        if children is None or not children.has_started:
            folder.remove()
            return ()
        expected = [each.lane for each in children.started if not each.by and self._is_recorded(each.lane)]
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

    def _note_unmanaged(self, started: Iterable[Started], lanes: Collection[str]) -> None:
        for each in strangers(started, lanes):
            if each.by:
                self.note_unwatched(each.by, f"starts {each.what}", each.place)
            else:
                self._note_started(each.what, each.place)

    def _note_started(self, child: str, place: str) -> None:
        message = f"{child} was started again for real at {place}; make the call a boundary, and record again"
        if (child, place) not in self._noted:
            self._noted.add((child, place))
            self._director.note("child", place, message, severity="warning")

    def note_unwatched(self, by: str, does: str, place: str | None = None) -> None:
        """Note that something is denied to a process that can't be kept from it; `place` is by default the line that runs."""
        denied = " and ".join(sorted(self._plan.deny))
        message = (
            f"{by} {does} at {place or self._place()}, where it is not seen whether it reaches for what is denied ({denied}):"
            " only Python processes that take part in the replay are kept from it; deny subprocess, too, or have it served"
        )
        if (by, message) not in self._noted:
            self._noted.add((by, message))
            self._director.note("child", by, message, severity="notice")
