"""The processes that a session's program starts: the context that each of them gets, and which of them have joined.

A child process joins when it finds its context and takes part in the session of the process that started it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from msgspec import Struct

from autochron import user_key
from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.crossing import processes
from autochron.crossing.lanes import CHILD, CURRENT, MAIN, LaneRoot, Remote
from autochron.effects.undisturbed import undisturbed
from autochron.isolation import network
from autochron.isolation.process_starts import is_fork, lane_label

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from autochron.crossing.kernel import Kernel

UNKNOWN = f"{CHILD}?"
"""Prefix of the lane label of a process that no hook saw start. These are numbered in the order in which they join."""


class ChildContext(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The context of a child process: which session it is part of, and where in the trace it begins.

    Attributes:
        process: id of the process that wrote this context. A process that finds its own id here was replaced by exec,
            and is no child.
        place: URL of the store to record into, or the folder of a replay.
        trace: id of the trace.
        rules: path of the rule file.
        root: folder of the rules.
        digest: digest of the rules that are in force.
        program: the first process's program. All processes of a trace have the same project.
        project: the first process's project, if that is not the default.
        began: when the trace began, in nanoseconds of a clock that all processes of a machine share.
        sync: whether each envelope is durable before its crossing's caller goes on.
        only_failed: whether the traces of calls that returned are dropped.
        watch: whether to look for calls that escape the record.
        lane: lane in which the process begins: the main lane if nobody saw it start.
        seq: number of the crossing in which it was started.
        collapses: whether that crossing collapses.
        live: whether that crossing is live.
        scratch: scratch folder of a replay.
        snapshots: folders with the contents of the trace's snapshots.
        key: path of the user's key file.
        tag: authentication tag of all other fields by that key. It proves that a process of the same user wrote them.
    """

    mode: Literal["record", "replay"]
    process: int
    place: str
    trace: str = ""
    rules: str | None = None
    root: str = ""
    digest: str = ""
    program: str | None = None
    project: tuple[str, ...] = ()
    began: int = 0
    sync: bool = False
    only_failed: bool = False
    watch: bool = False
    lane: str = MAIN
    seq: int | None = None
    collapses: bool = False
    live: bool = False
    scratch: str | None = None
    snapshots: tuple[str, ...] = ()
    key: str = ""
    tag: str = ""

    @property
    def parent(self) -> Remote | None:
        """The crossing in which the process was started; None if there is none."""
        return None if self.seq is None else Remote(self.seq, collapses=self.collapses, live=self.live)


def read_context(text: str) -> ChildContext | None:
    """Read the context of this process.

    Returns:
        None if the text can't be read, or if a process of another user may have written it.
    """
    try:
        context = msgspec.json.decode(text, type=ChildContext)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    is_authentic = context.tag and os.path.isabs(context.key) and context.tag == _tag(context)
    return context if is_authentic else None


def _tag(context: ChildContext) -> str | None:
    with undisturbed():
        return user_key.tag_of(
            b"child process", msgspec.json.encode(msgspec.structs.replace(context, tag="")), context.key
        )


class StartedProcess(Struct, frozen=True):
    """A process that the program has started.

    Attributes:
        description: the process in words, for messages.
        place: the project's line that started it.
        lane: the lane that was allocated for it.
        label: label of that lane.
        base: lane of the process that started it.
        is_multiprocessing: whether `multiprocessing` started it. Of such processes with one description, all join or
            none.
        joins_by_name: whether it gets no lane from us, and is recognized by its label when it joins.
        denied_crossing: address of the live crossing that started it, if something is denied to that crossing. Then the
            process has to join itself; it isn't enough that a process joins which it starts.
    """

    description: str
    place: str
    lane: str
    label: str
    base: str
    is_multiprocessing: bool
    joins_by_name: bool
    denied_crossing: str = ""

    def has_joined(self, lanes: Collection[str]) -> bool:
        """Return whether it is among the processes that began in these lanes."""
        below = f"{self.lane}/{UNKNOWN}"
        return self.lane in lanes or (
            not self.denied_crossing and any(lane.startswith(below) for lane in lanes)
        )

    @property
    def unnumbered_lane(self) -> str:
        """The lane in which it begins if it joins by name, without the number."""
        return f"{self.base}/{UNKNOWN}{self.label}"


def unmanaged_processes(started: Iterable[StartedProcess], lanes: Collection[str]) -> list[StartedProcess]:
    """Return the started processes that did not join.

    A pool may end workers before they have begun. So a process of `multiprocessing` counts as joined if another one with
    the same description has joined.

    Args:
        started: the processes that the program started.
        lanes: the lanes of the processes that joined.
    """
    pools = {
        process.description for process in started if process.is_multiprocessing and process.has_joined(lanes)
    }
    unnumbered = Counter(lane.rpartition(".")[0] for lane in lanes)
    unmanaged = []
    for process in started:
        if process.has_joined(lanes) or process.description in pools:
            continue
        if process.joins_by_name and unnumbered[process.unnumbered_lane] > 0:
            unnumbered[process.unnumbered_lane] -= 1
            continue
        unmanaged.append(process)
    return unmanaged


class Owner(Protocol):
    """The session whose program starts the processes."""

    kernel: Kernel

    @property
    def is_child(self) -> bool:
        """Whether this process is not the first one of the trace."""

    def step_aside(self) -> None:
        """Stop the session, in a child process that begins a session of its own."""

    def place(self) -> str:
        """Return the project's line that is running."""

    def live_of(self, crossing: Any) -> bool:
        """Return whether a crossing is live in a replay."""


class Children:
    """Allocates the lanes of the processes that start, and hands out their contexts; a `crossing.processes.Parent`.

    Attributes:
        started: the processes that were started and have to join.
        context: the context from which those of child processes are derived.
        forked: called in a forked process with its lane; without one, the process is about to be replaced.
        seq_of: returns the number by which other processes know a crossing.
        before_first: called once, before the first process starts.
        has_started: whether any process was started, also one that needn't join.
        owner: the session.
    """

    def __init__(
        self,
        owner: Owner,
        context: ChildContext,
        seq_of: Callable[[Any], int | None],
        forked: Callable[[LaneRoot | None], None],
    ) -> None:
        self.started: list[StartedProcess] = []
        self.context = context
        self.forked = forked
        self.seq_of = seq_of
        self.before_first: Callable[[], None] | None = None
        self.has_started = False
        self.owner = owner

    def begin(self) -> None:
        """Hand out contexts from now on."""
        os.environ[processes.VARIABLE] = _text(self.context)
        processes.attend(self)

    def end(self) -> None:
        """Hand out contexts no longer."""
        processes.attend(None)
        os.environ.pop(processes.VARIABLE, None)

    def start(
        self,
        event: str,
        arguments: tuple[Any, ...],
        description: str,
        *,
        is_reported: bool,
        denied_crossing: str = "",
    ) -> str | None:
        """Allocate the lane of a process that is about to start, and have its context handed to it.

        Args:
            event: name of the audit event.
            arguments: arguments of the audit event.
            description: the process in words.
            is_reported: whether a report names the process if it doesn't join.
            denied_crossing: see `StartedProcess`.

        Returns:
            The lane of a process that has to join by itself; None for a fork, and where no lane is allocated.
        """
        if self.before_first is not None:
            first, self.before_first = self.before_first, None
            first()
        starting = processes.STARTING.root
        if event == "os.posix_spawn" and starting is not None:
            # `subprocess` has announced the process by its own event. This way to start it hands out no lane.
            processes.STARTING.root = None
            self._expect_by_name(starting.lane)
            return None
        self.has_started = True
        label = lane_label(event, arguments)
        root = processes.birth(label)
        if root is None:
            return None
        self._announce(event, root)
        if is_fork(event, arguments):
            return None
        if is_reported:
            self.started.append(
                StartedProcess(
                    description,
                    self.owner.place(),
                    root.lane,
                    label,
                    self.context.lane,
                    is_multiprocessing=event == network.PROCESS,
                    joins_by_name=event in {"os.posix_spawn", "os.spawn"},
                    denied_crossing=denied_crossing,
                )
            )
        return root.lane

    def _expect_by_name(self, lane: str) -> None:
        """Note that the process of a lane joins by its name."""
        self.started = [
            msgspec.structs.replace(process, joins_by_name=process.joins_by_name or process.lane == lane)
            for process in self.started
        ]

    def _announce(self, event: str, root: LaneRoot) -> None:
        """Keep the lane for the hook that hands the context out; `os.system` has no hook, so set the environment for it."""
        processes.STARTING.root = root
        if event == "os.system":
            processes.STARTING.root = None
            # The shell inherits the environment of C, and assigning to `os.environ` would show the program the context.
            if processes.VARIABLE in os.environ:
                os.putenv(processes.VARIABLE, self.context_of(root))
        elif event in {"os.posix_spawn", "os.spawn"}:
            processes.STARTING.root = None

    # --- called by crossing.processes --------------------------------------------------------------------------------

    def current(self) -> Any:
        """Return the innermost open crossing, or the lane's root."""
        kernel = self.owner.kernel
        current = CURRENT.get(None)
        if (
            current is not None
            and current.root.kernel is not kernel
            and type(current.root.kernel) is type(kernel)
        ):
            return kernel.base  # inside a call with a trace of its own, and no process is part of that trace
        return kernel.current()

    def has_forked(self, root: LaneRoot) -> None:
        """Note that a forked process has joined."""
        self.started = [process for process in self.started if process.lane != root.lane]

    def context_of(self, root: LaneRoot) -> str:
        """Return the context of a process that begins in a lane, as text."""
        return _text(
            msgspec.structs.replace(
                self.context,
                lane=root.lane,
                seq=self.seq_of(root.parent),
                collapses=root.collapses,
                live=self.live_of(root.parent),
            )
        )

    def live_of(self, crossing: Any) -> bool:
        """Return whether a crossing is live in a replay."""
        return self.owner.live_of(crossing)

    def work(self, lane: str, seq: int | None, collapses: bool, live: bool) -> None:  # noqa: FBT001 - as the port has it
        """Let this thread continue a lane that another process began."""
        parent = None if seq is None else Remote(seq, collapses=collapses, live=live)
        CURRENT.set(LaneRoot(self.owner.kernel, lane, parent))


def _text(context: ChildContext) -> str:
    """Write a context with its authentication tag.

    Without a key the tag is empty, and `read_context` rejects the text.
    """
    with undisturbed():
        keyed = msgspec.structs.replace(context, key=os.path.abspath(user_key.key_file() or ""), tag="")
    return msgspec.json.encode(msgspec.structs.replace(keyed, tag=_tag(keyed) or "")).decode()


class Numbers:
    """Issues the sequence numbers of a child process from ranges that it reserves in the store."""

    def __init__(self, reserve: Callable[[], int], size: int, first: int | None = None) -> None:
        """Make one.

        Args:
            reserve: reserves another range in the store, and returns its first number.
            size: how many numbers a range has.
            first: the first number of a range that is reserved already.
        """
        self._reserve = reserve
        self._size = size
        self._next = first or 0
        self._end = 0 if first is None else first + size
        self._lock = unpatched.RLock()

    def __call__(self) -> int:
        with self._lock:
            if self._next >= self._end:
                self._next = self._reserve()
                self._end = self._next + self._size
            number = self._next
            self._next += 1
            return number
