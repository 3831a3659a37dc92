"""The protocols between the rooms, so that each room can be built and tested without the others.

Types that one room needs of another, but must not import, are here. docs/architecture.md says who implements which.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol, Self, TypeVar

from autochron.model import (
    BoundaryRule,
    Child,
    ChildEnd,
    Crossed,
    Divergence,
    Envelope,
    Exchange,
    Finding,
    Footer,
    Form,
    Header,
    Replayed,
    ReplaySummary,
    Trace,
    TraceSummary,
)

P_contra = TypeVar("P_contra", contravariant=True)
"""A woven definition."""

C_contra = TypeVar("C_contra", contravariant=True)
"""An open crossing, with the data that its handler keeps in it."""


class Token(Protocol):
    """What `WovenHandler.enter` returns for a crossing that runs its body. Its truth value is true.

    A recorder's methods never raise an error of their own. Those of a replay may raise.
    """

    def returned(self, value: Any) -> Any:
        """Note that the body returned, and return the value that the caller gets."""

    def raised(self, error: BaseException) -> None:
        """Note that the body raised. The caller gets the error."""

    def yielded(self, item: Any) -> None:
        """Note that a generator yielded an item. The crossing is not current until `resumed` is called."""

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Note that the consumer resumed the generator, by sending a value or throwing an exception."""

    def substituted(self, argument: Any) -> Any:
        """Return the value that the body gets for the argument that the point marks as replaced. Called before the body."""


class Serving(Protocol):
    """What `WovenHandler.enter` returns for a crossing whose body must not run. Its truth value is false."""

    def __bool__(self) -> bool: ...

    def outcome(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a function. The woven frame raises an error that is not None."""

    def outcome_async(self) -> Any:
        """Return an awaitable of (error, value), for a coroutine function."""

    def items(self) -> Any:
        """Return a generator that yields the items and returns (error, value), for a generator function."""

    def step_async(self, sent: Any) -> Any:
        """Return an awaitable of (done, error, item), for an asynchronous generator function.

        `sent` is what the consumer sent after the last item.
        """

    def thrown(self, error: BaseException) -> bool:
        """Return whether an error that was thrown into an asynchronous generator leaves it. If not, a step follows."""


class WovenHandler(Protocol[P_contra]):
    """What woven code calls: the kernel. A process has at most one at a time."""

    def enter(self, point: P_contra, arguments: tuple[Any, ...]) -> Token | Serving | None:
        """Begin a crossing of a woven definition; return None if the call is no crossing."""


class Transport(Protocol):
    """The function of an HTTP client that every request passes through.

    A wire is an exchange under way; see `http.exchange`. `parameters` and `arguments` are the names and values of that
    function's arguments.
    """

    def method_and_url(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> tuple[str, str]:
        """Return the method and the URL of a request."""

    def sent(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Return a wire for a request that begins."""

    def left_alone(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
        """Note a request that belongs to no crossing; raise where its connection is refused."""

    def attend(self, wire: Any, response: Any, ended: Callable[[Any], None]) -> None:
        """Note a response in its wire. Call `ended` once the body has been read, which may be later."""

    def rebuilt(self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Return the client's response object for a recorded exchange."""

    def ended(
        self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]
    ) -> BaseException | None:
        """Return the exception that the client raised in a recorded exchange; None where it raised none."""


class Enclosing(Protocol):
    """What encloses a crossing or a lane: a crossing that is open in this process, or in another one."""

    seq: int

    @property
    def collapses(self) -> bool:
        """Whether a model crossing of a pack that starts right inside it is no crossing of its own."""

    @property
    def record(self) -> Any:
        """What the handler stores with it; None for a crossing of another process."""

    @property
    def parent(self) -> Enclosing | None:
        """What encloses it in turn."""


class CrossingHandler(Protocol[C_contra]):
    """What the kernel calls: the recorder, or the director of a replay.

    A crossing begins once and ends once. If a call returns an awaitable, an iterator or a future, the kernel follows this
    object, and calls `returned` or `raised` when it is done.
    """

    def begin(self, crossing: C_contra, arguments: tuple[Any, ...]) -> Serving | None:
        """Note a start, before the body can change the arguments. If a serving is returned, the body doesn't run."""

    def returned(self, crossing: C_contra, value: Any) -> Any:
        """Note the result, and return the value that the caller gets."""

    def raised(self, crossing: C_contra, error: BaseException) -> None:
        """Note the error. The caller gets it."""

    def item(self, crossing: C_contra, item: Any) -> None:
        """Note one item of a stream."""

    def sent(self, crossing: C_contra, value: Any, thrown: BaseException | None) -> None:
        """Note the value that a stream's consumer sent into it, or the exception that it threw."""

    def substituted(self, crossing: C_contra, argument: Any) -> Any:
        """Return the value that the body gets for the argument that a rule's `outcome` names."""

    def follows(self, crossing: C_contra) -> bool:
        """Return whether the kernel is to follow an iterator that a call returned, item by item."""

    def follows_object(self, crossing: C_contra, value: Any) -> bool:
        """Return whether the kernel is to follow an object that a call returned, method call by method call."""

    def looked(self, crossing: C_contra, value: Any, *, at_end: bool = False) -> None:
        """Note the state of a followed object after a method call, or at its end."""

    def detach(self, crossing: C_contra) -> Any:
        """Release the program's objects that are kept for a crossing, and return them; None where none are."""

    def attach(self, crossing: C_contra, objects: Any) -> None:
        """Keep the objects again that `detach` returned, because the crossing is about to go on or to end."""

    def dropped(self, crossing: C_contra) -> None:
        """Note that the followed object is gone before it came to its end."""


class OpenCrossing(Token, Protocol):
    """An open crossing, for those that follow the object which its call returned.

    Attributes:
        form: the shape of that object.
        handed: facts about it which its shape does not tell, as JSON data.
        done: whether its end was noted.
        is_stepping: whether one of its methods is running.
    """

    form: Form
    handed: dict[str, Any] | None
    done: bool
    is_stepping: bool

    @property
    def handler(self) -> CrossingHandler[Self]:
        """The handler that notes the crossing."""

    def ended(self, value: Any) -> Any:
        """Note that the object came to its end, and return the value that the consumer gets."""


class Replayer(Protocol):
    """One replay in this process, for rooms that run one and read its results: impact, mutate, program and the commands.

    Attributes:
        before_exec: called before the process is replaced by another program; None for nothing.
    """

    before_exec: Callable[[], None] | None

    @property
    def record(self) -> Record:
        """The trace that is served."""

    def begin(self) -> None:
        """Begin to serve crossings."""

    def watch(self) -> None:
        """Begin to look for calls that escape the record."""

    def leave(self) -> None:
        """Report that this process, which the program has forked, has come to its end."""

    def finish(self, *, whole: bool = True) -> Sequence[Divergence]:
        """Stop serving and return the divergences.

        Args:
            whole: whether the program came to its end, so that crossings that did not happen are missing.
        """

    def put_away(self) -> None:
        """Remove the files that were prepared, after a replay that took place in another process."""

    def replayed(self) -> Iterator[Replayed]:
        """Yield the crossings so far, in order of start."""

    def divergences(self) -> Sequence[Divergence]:
        """Return the divergences so far."""

    def findings(self) -> tuple[Finding, ...]:
        """Return the calls that escaped the record so far; none without `watch`."""

    def summary(self, status: int) -> ReplaySummary:
        """Return the result of the replay; `status` is the program's exit status."""

    def pause(self, *, for_several: bool = False) -> None:
        """Stop listening to child processes, until a fork takes the place of this process.

        Args:
            for_several: whether several forks may do so at one time.
        """

    def take_over(self, scratch: str | None = None) -> None:
        """Go on in this fork, in the place of the process that paused.

        Args:
            scratch: path of its scratch folder; by default one beside that of the process that paused.
        """

    def clear(self) -> None:
        """Remove the files that such a fork could not remove itself, before the next one makes them."""


class ModelListener(Protocol):
    """Is told of the requests to models and of the ends of their answers. It never raises."""

    def sent(self, crossing: Any, wire: Any) -> None:
        """Note a request (an `http.exchange.Wire`) of a crossing that is about to be sent."""

    def ended(self, seq: int) -> None:
        """Note that the answer to a crossing's request has come to its end."""

    def began(self, crossing: Any, arguments: tuple[Any, ...]) -> bool:
        """Note that a found tool's crossing begins, and return whether it is known to be of the tool."""

    def closed(self) -> None:
        """Note that the session ends."""

    def answered(self, crossing: Any, exchange: Exchange) -> None:
        """Note the recorded answer that a request of a crossing is served."""

    def is_called(self, point: Any, rule: BoundaryRule, arguments: Sequence[Any], current: Any) -> bool:
        """Return whether a call of a found tool's function answers a call that a model has asked for."""


class LiveObserver(Protocol[C_contra]):
    """Observes the effects of a replay's live crossings beside their outcomes."""

    def entered(self, crossing: C_contra) -> None:
        """Note that a live crossing begins."""

    def left(self, crossing: C_contra, error: BaseException | None) -> None:
        """Note that a live crossing has ended, and the error that it raised, if it did."""


class Sink(Protocol):
    """A place for the envelopes of one trace. It is thread-safe, and its methods raise StoreError."""

    def put(self, envelope: Envelope) -> None:
        """Store an envelope. It replaces one with the same `seq`."""

    def extend(self, seq: int, items: Sequence[bytes]) -> None:
        """Add items to the stream of an envelope that was put before."""

    def end(self, footer: Footer | ChildEnd) -> None:
        """Store the footer of the trace, or the report with which a child process ends."""

    def commit(self) -> None:
        """Make all that was put durable."""

    def close(self) -> None:
        """Commit, and close the connection to the store."""


class Record(Protocol):
    """A trace to be replayed. Envelopes are read when they are needed: a long trace is never in memory as a whole.

    Attributes:
        header: the first part of the trace.
        footer: the last part; None where the trace was cut off.
        size: how many crossings it has.
        is_whole: whether all of it is in memory anyway.
    """

    header: Header
    footer: Footer | None
    size: int
    is_whole: bool

    def __iter__(self) -> Iterator[Envelope]:
        """Yield the envelopes in order of start, from the first one each time. Few are in memory at once."""

    def get(self, seq: int) -> Envelope:
        """Read one envelope.

        Raises:
            KeyError: there is none with this seq.
        """

    def find(self, name: str, nth: int) -> Envelope | None:
        """Read the envelope with the address `name[nth]`; None where there is none."""

    def boundaries(self) -> Sequence[Crossed]:
        """Return each name, kind and site of the crossings once, in order of first start."""

    def names(self) -> Collection[str]:
        """Return the names of the crossings."""

    def sites(self) -> Collection[str]:
        """Return the sites of the crossings, each once, in order of first start."""

    def parents(self, names: Collection[str], kinds: Collection[str], after: int | None = None) -> set[int]:
        """Return the seqs of all crossings that enclose, at any depth, a selected one.

        Args:
            names: select crossings by name.
            kinds: select crossings by kind.
            after: select all crossings with a higher seq; None for none.
        """


class Store(Protocol):
    """A place for traces."""

    url: str | None
    """The URL by which another process opens it, to record into it; None where none can."""

    def begin(self, header: Header) -> Sink:
        """Begin a new trace."""

    def join(self, trace: str, lane: str, label: str) -> tuple[Sink, str, int]:
        """Open a trace that another process began.

        Args:
            trace: its id.
            lane: the lane in which this process was started.
            label: the name of this process's lane below it; empty to take `lane` itself, if no other process has it.

        Returns:
            The sink, the lane of this process, which no other process has, and its first seq.
        """

    def children(self, reference: str) -> list[Child]:
        """List the child processes that were recorded into a trace."""

    def count(self, trace: str) -> int:
        """Return the number of crossings of the trace with an id; 0 if there is none."""

    def counts(self, reference: str) -> dict[str, int]:
        """Return the number of crossings of a trace by name."""

    def summaries(self) -> list[TraceSummary]:
        """List the traces, oldest first."""

    def find(self, reference: str) -> str:
        """Return the id of the trace that a name, an id, its prefix or `last` refers to.

        Raises:
            TraceNotFoundError: there is none, or more than one. The message names the nearest.
        """

    def outline(self, reference: str) -> tuple[Header, Footer | None]:
        """Read the header and the footer of a trace; the footer is None where the trace was cut off."""

    def load(self, reference: str) -> Trace:
        """Read a whole trace into memory."""

    def record(self, reference: str) -> Record:
        """Open a trace to be replayed."""

    def envelopes(self, reference: str) -> Iterator[Envelope]:
        """Yield the envelopes of a trace, in order of start."""

    def drop(self, ids: Sequence[str]) -> None:
        """Delete traces by their ids, and free their space. Unknown ids are ignored."""

    def close(self) -> None:
        """Close the connection to the store."""
