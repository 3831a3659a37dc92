"""The processes that a session's program starts: what they are told, and which of them have come."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from msgspec import Struct

from autochron import user_key
from autochron._runtime import unpatched
from autochron._runtime.frame_locals import locals_of
from autochron._runtime.unpatched import getframe, os
from autochron.crossing import processes
from autochron.crossing.lanes import CHILD, CURRENT, MAIN, LaneRoot, Remote, label_of
from autochron.effects.undisturbed import undisturbed
from autochron.isolation import network

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from autochron.crossing.kernel import Kernel

UNKNOWN = f"{CHILD}?"
"""Stands before the name of a process that was started past every hook: its place is the order in which it came."""


class Handing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a child process is told: what it is a child of, and where it begins."""

    mode: Literal["record", "replay"]
    process: int
    """Who says this. A process that finds its own id was replaced by exec, and is no child."""
    place: str
    """A store to record into; or the folder of a replay."""
    trace: str = ""
    rules: str | None = None
    root: str = ""
    digest: str = ""
    program: str | None = None
    """The first process's program: what is the project's own is the same in all."""
    began: int = 0
    """When the trace began, by a clock that all processes of a machine share."""
    sync: bool = False
    only_failed: bool = False
    """Whether the traces of calls that returned are dropped."""
    watch: bool = False
    """Whether calls are looked for that escape the record."""
    lane: str = MAIN
    """Where it begins; the main lane where nobody saw it start."""
    seq: int | None = None
    """The crossing that it was started in."""
    collapses: bool = False
    live: bool = False
    """Whether that is live."""
    scratch: str | None = None
    """The scratch folder of a replay."""
    snapshots: tuple[str, ...] = ()
    """The folders with the contents of its trace's snapshots."""
    key: str = ""
    """The file of the user's key."""
    tag: str = ""
    """By that key, of all that is said here: it was said by a process of the same user."""

    @property
    def parent(self) -> Remote | None:
        """The crossing that it was started in."""
        return None if self.seq is None else Remote(self.seq, collapses=self.collapses, live=self.live)


def read_handing(text: str) -> Handing | None:
    """Read what this process is told; None where it can't be read, or a process of another user may have said it."""
    try:
        handing = msgspec.json.decode(text, type=Handing)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    is_said = handing.tag and os.path.isabs(handing.key) and handing.tag == _tag(handing)
    return handing if is_said else None


def _tag(handing: Handing) -> str | None:
    with undisturbed():
        return user_key.tag_of(
            b"child process", msgspec.json.encode(msgspec.structs.replace(handing, tag="")), handing.key
        )


class Started(Struct, frozen=True):
    """A process that was started."""

    what: str
    place: str
    lane: str
    label: str
    base: str
    """The lane of the process that started it."""
    is_known: bool
    """Whether it is a process of multiprocessing: all of them come or none does."""
    is_untold: bool
    """Whether its lane could not be given to it: it comes by its name."""
    by: str = ""
    """The live crossing that it was started in, where that is kept from something: then it must come itself, and not only
    what it starts."""

    def comes(self, lanes: Collection[str]) -> bool:
        """Return whether it is among the processes that began in these lanes."""
        below = f"{self.lane}/{UNKNOWN}"
        return self.lane in lanes or (not self.by and any(lane.startswith(below) for lane in lanes))

    @property
    def name(self) -> str:
        """What its lane is called if it could not be given to it, but for the number."""
        return f"{self.base}/{UNKNOWN}{self.label}"


def strangers(started: Iterable[Started], lanes: Collection[str]) -> list[Started]:
    """Return those that are not among the processes which began in these lanes.

    A pool may end its workers before they have begun: that is no reason to take them for strangers.
    """
    known = {each.what for each in started if each.is_known and each.comes(lanes)}
    unnamed = Counter(lane.rpartition(".")[0] for lane in lanes)
    missing = []
    for each in started:
        if each.comes(lanes) or each.what in known:
            continue
        if each.is_untold and unnamed[each.name] > 0:
            unnamed[each.name] -= 1
            continue
        missing.append(each)
    return missing


class Owner(Protocol):
    """Whose program starts the processes: a session."""

    kernel: Kernel

    @property
    def is_child(self) -> bool:
        """Whether this process is not the first one of the trace."""

    def step_aside(self) -> None:
        """Stop in a child process that begins a session of its own."""

    def place(self) -> str:
        """Name the project's line that runs now."""

    def live_of(self, crossing: Any) -> bool:
        """Return whether a crossing is live in a replay."""


class Children:
    """Answers the processes that start, which ask what they are children of; what `crossing.processes` asks."""

    def __init__(
        self,
        owner: Owner,
        handing: Handing,
        seq_of: Callable[[Any], int | None],
        forked: Callable[[LaneRoot | None], None],
    ) -> None:
        self.started: list[Started] = []
        self.handing = handing
        self.forked = forked
        self.seq_of = seq_of
        self.before_first: Callable[[], None] | None = None
        """What is done before the first process starts."""
        self.has_started = False
        """Whether any process was started at all."""
        self.owner = owner

    def begin(self) -> None:
        """Have processes told from now on."""
        os.environ[processes.VARIABLE] = _text(self.handing)
        processes.attend(self)

    def end(self) -> None:
        """Stop answering."""
        processes.attend(None)
        os.environ.pop(processes.VARIABLE, None)

    def start(
        self, event: str, arguments: tuple[Any, ...], what: str, *, told_of: bool, by: str = ""
    ) -> str | None:
        """Return a process that is about to start its lane; `told_of` says whether a report names it if it doesn't come.

        Gives the lane of one that has to find the way to us by itself. `by`: see `Started`.
        """
        if self.before_first is not None:
            first, self.before_first = self.before_first, None
            first()
        begun = processes.STARTING.root
        if event == "os.posix_spawn" and begun is not None:  # it is how `subprocess` does it
            processes.STARTING.root = None
            self.started = [
                msgspec.structs.replace(each, is_untold=each.is_untold or each.lane == begun.lane)
                for each in self.started
            ]
            return None
        self.has_started = True
        label = _label(event, arguments)
        root = processes.birth(label)
        if root is None:
            return None
        processes.STARTING.root = root
        if event == "os.system":
            processes.STARTING.root = None
            # The shell inherits what C knows, which `os.environ` doesn't show.
            if processes.VARIABLE in os.environ:
                os.putenv(processes.VARIABLE, self.told(root))
        elif event in {"os.posix_spawn", "os.spawn"}:
            processes.STARTING.root = None
        if _is_fork(event, arguments):
            return None
        if told_of:
            self.started.append(
                Started(
                    what,
                    self.owner.place(),
                    root.lane,
                    label,
                    self.handing.lane,
                    is_known=event == network.PROCESS,
                    is_untold=event in {"os.posix_spawn", "os.spawn"},
                    by=by,
                )
            )
        return root.lane

    # --- asked by crossing.processes ---------------------------------------------------------------------------------

    def current(self) -> Any:
        """Return the innermost open crossing, or the lane's root."""
        kernel = self.owner.kernel
        current = CURRENT.get(None)
        if (
            current is not None
            and current.root.kernel is not kernel
            and type(current.root.kernel) is type(kernel)
        ):
            return kernel.base  # in the trace of a call, of which a process is no part
        return kernel.current()

    def has_forked(self, root: LaneRoot) -> None:
        """Take a process that was forked for one that has come."""
        self.started = [each for each in self.started if each.lane != root.lane]

    def told(self, root: LaneRoot) -> str:
        """Return what a process is told that begins in a lane."""
        return _text(
            msgspec.structs.replace(
                self.handing,
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
        """Let this thread go on in a lane that another process began."""
        parent = None if seq is None else Remote(seq, collapses=collapses, live=live)
        CURRENT.set(LaneRoot(self.owner.kernel, lane, parent))


def _text(handing: Handing) -> str:
    """Write what a child process is told. Without a key it is told nothing that it believes."""
    with undisturbed():
        keyed = msgspec.structs.replace(handing, key=os.path.abspath(user_key.key_file() or ""), tag="")
    return msgspec.json.encode(msgspec.structs.replace(keyed, tag=_tag(keyed) or "")).decode()


def _label(event: str, arguments: tuple[Any, ...]) -> str:
    if event == network.PROCESS:
        return label_of(arguments[1])
    if event in {"os.fork", "os.forkpty"}:
        return "fork"
    if event == "os.system":
        words = network.words_of(network.text_of(arguments[0])) or [""]
        return processes.label_for(words[0], words)
    if event == "os.spawn":
        return processes.label_for(arguments[1], arguments[2])
    return processes.label_for(arguments[0], arguments[1])


def _is_fork(event: str, arguments: tuple[Any, ...]) -> bool:
    return event in {"os.fork", "os.forkpty"} or (event == network.PROCESS and arguments[0] == "fork")


class Numbers:
    """Hands out the seqs of a child process, run by run."""

    def __init__(self, reserve: Callable[[], int], size: int, first: int | None = None) -> None:
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


_ALONE = frozenset("SEI")
"""Options by which an interpreter does not look for what is installed, or heeds no environment."""

_VALUED = frozenset("WX")
"""Options that are followed by a value."""


def takes_part(event: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether a process that is about to start will find its way to us: a fork, or a Python that sees the variable."""
    if event in {"os.fork", "os.forkpty", network.PROCESS}:
        return True
    if event == "os.system":
        return False  # a shell does what it does itself
    program, words, environment = _started(event, arguments)
    if not os.path.basename(network.text_of(program)).startswith(("python", "pypy")) or find_line() is None:
        return False
    if _is_alone([network.text_of(word) for word in words or ()][1:]):
        return False
    return environment is None or any(network.text_of(name) == processes.VARIABLE for name in environment)


def _is_alone(words: Sequence[str]) -> bool:
    """Return whether the words behind an interpreter's name say that it is to find nothing of ours."""
    rest = iter(words)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            return False
        for at, letter in enumerate("" if word.startswith("--") else word[1:], 2):
            if letter in _ALONE:
                return True
            if letter in "cm":
                return False
            if letter in _VALUED:
                if at == len(word):
                    next(rest, None)
                break
    return False


def spawned_by_fork(event: str) -> tuple[Any, Any, Any] | None:
    """Return (program, words, environment) of what a fork is about to become, as `os.spawnvp` has it; None for others."""
    frame: Any = getframe(1) if event == "os.fork" else None
    for _ in range(_NEAR):
        if frame is None:
            return None
        if frame.f_code.co_name == "_spawnvef" and frame.f_globals.get("__name__") == "os":
            found = locals_of(frame)
            return found["file"], found["args"], found["env"]
        frame = frame.f_back
    return None


_NEAR = 8
"""Frames between a fork and what calls it."""


def _started(event: str, arguments: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Return (program, words, environment or None for our own) of an event that starts a program."""
    if event == "os.spawn":
        _, program, words, environment = arguments[:4]
        return program, words, environment
    if event in {"os.posix_spawn", "os.exec"}:
        program, words, environment = arguments[:3]
        return program, words, environment
    program, words, _, environment = arguments[:4]
    return program, words, environment


def find_line() -> str | None:
    """Find the `.pth` file by which programs that are started find us; None where the installation lacks it."""
    for folder in sys.path:
        file = os.path.join(folder, "autochron_children.pth")
        if os.path.isfile(file):
            return file
    return None
