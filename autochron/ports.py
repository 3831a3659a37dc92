"""The narrow doors between the stages, so that each can be built and tested without the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol, Self, TypeVar

from autochron.model import (
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
"""An open crossing, with what its handler keeps of it."""


class Token(Protocol):
    """What a handler hands to woven code for one crossing that runs its body.

    A token is true. Faults of the recorder never leave these methods; a replay may raise.
    """

    def returned(self, value: Any) -> Any:
        """Note that the body returned; what this gives is what the caller gets."""

    def raised(self, error: BaseException) -> None:
        """Note that the body raised; the error goes on to the caller."""

    def yielded(self, item: Any) -> None:
        """Note an item; the crossing is left until `resumed`."""

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Note that the consumer came back."""

    def substituted(self, argument: Any) -> Any:
        """Return what the body gets for the argument that its point says may be replaced; asked before the body runs."""


class Serving(Protocol):
    """What a handler hands to woven code for a crossing whose body must not run. A serving is false."""

    def __bool__(self) -> bool: ...

    def outcome(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a function; an error is raised from the woven frame."""

    def outcome_async(self) -> Any:
        """Return an awaitable of (error, value), for a coroutine function."""

    def items(self) -> Any:
        """Return a generator that yields the items and returns (error, value), for a generator function."""

    def step_async(self, sent: Any) -> Any:
        """Return an awaitable of (done, error, item), for an asynchronous generator function; `sent` answers the last."""

    def thrown(self, error: BaseException) -> bool:
        """Return whether what was thrown into an asynchronous generator function leaves it; if not, a step comes next."""


class WovenHandler(Protocol[P_contra]):
    """What woven code calls: the kernel. Exactly one is in force in a process, or none."""

    def enter(self, point: P_contra, arguments: tuple[Any, ...]) -> Token | Serving | None:
        """Begin a crossing; None when the call is none."""


class Transport(Protocol):
    """Where every request of an HTTP client goes through, as a woven definition knows it.

    `http.exchange` says what a wire is: an exchange under way.
    """

    def asked(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> tuple[str, str]:
        """Return method and URL of a request."""

    def sent(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Return the wire of a request, which begins."""

    def attend(self, wire: Any, response: Any, ended: Callable[[Any], None]) -> None:
        """Note a response; where its body is still to be read, listen to the reading, and call `ended` after it."""

    def rebuilt(self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Return the response that a client would have got for a request."""

    def ended(
        self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]
    ) -> BaseException | None:
        """Return the exception that a client would have raised for a request."""


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

    A crossing is begun once and ended once. `returned` is only told of values that are there: an awaitable, an iterator
    or a future that a call hands out is followed by the kernel, and told of when it is done.
    """

    def begin(self, crossing: C_contra, arguments: tuple[Any, ...]) -> Serving | None:
        """Note a start, before the body has touched the arguments; a serving keeps the body from running."""

    def returned(self, crossing: C_contra, value: Any) -> Any:
        """Note the value; what this gives is what the caller gets."""

    def raised(self, crossing: C_contra, error: BaseException) -> None:
        """Note the error."""

    def item(self, crossing: C_contra, item: Any) -> None:
        """Note one item of a stream."""

    def sent(self, crossing: C_contra, value: Any, thrown: BaseException | None) -> None:
        """Note what the consumer of a stream sent or threw into it."""

    def substituted(self, crossing: C_contra, argument: Any) -> Any:
        """Return what the body gets for the argument that a rule's `outcome` names."""

    def follows(self, crossing: C_contra) -> bool:
        """Return whether an iterator that a call hands out is to be followed item by item."""

    def follows_object(self, crossing: C_contra, value: Any) -> bool:
        """Return whether an object that a call hands out is to be followed step by step."""

    def looked(self, crossing: C_contra, value: Any, *, at_end: bool = False) -> None:
        """Note the state of such an object after a step, or at its end."""

    def detach(self, crossing: C_contra) -> Any:
        """Return the program's objects that are kept of a crossing, and keep them no longer; None where nothing is kept."""

    def attach(self, crossing: C_contra, objects: Any) -> None:
        """Keep again what `detach` returned: the crossing is about to go on or to end."""

    def dropped(self, crossing: C_contra) -> None:
        """Note that what a call handed out is gone, and never came to its end."""


class OpenCrossing(Token, Protocol):
    """An open crossing, as those see it who follow what it handed out to its end.

    Attributes:
        form: the shape of what it handed out.
        handed: facts about that object which its shape does not tell, as JSON data.
        done: whether its end was told.
        is_stepping: whether a method of that object is running.
    """

    form: Form
    handed: dict[str, Any] | None
    done: bool
    is_stepping: bool

    @property
    def handler(self) -> CrossingHandler[Self]:
        """Who is told of it."""

    def ended(self, value: Any) -> Any:
        """Note that what was handed out came to its end; what this gives is what the consumer gets."""


class Replayer(Protocol):
    """One replay in this process, to those who run it and want to know what it came to: impact, mutation and the commands.

    Attributes:
        before_exec: what is done before the process is replaced.
    """

    before_exec: Callable[[], None] | None

    @property
    def record(self) -> Record:
        """The trace that is served."""

    def begin(self) -> None:
        """Begin to serve."""

    def watch(self) -> None:
        """Look for calls that escape the record."""

    def leave(self) -> None:
        """Report, in a process that the program has forked, that it has come to its end."""

    def finish(self, *, whole: bool = True) -> Sequence[Divergence]:
        """Stop serving and return the divergences; `whole` says whether the program came to its end."""

    def put_away(self) -> None:
        """Remove what was laid out for a replay that does not take place in this process."""

    def replayed(self) -> Iterator[Replayed]:
        """Yield the crossings so far, in order of start."""

    def divergences(self) -> Sequence[Divergence]:
        """Return where replay and record disagree so far."""

    def findings(self) -> tuple[Finding, ...]:
        """Return the calls that escaped the record so far; none where nobody looks for them."""

    def summary(self, status: int) -> ReplaySummary:
        """Return what the replay came to; `status` is the program's exit status."""

    def pause(self) -> None:
        """Hear of no process until a fork goes on in the place of this one."""

    def take_over(self) -> None:
        """Go on in a fork in the place of the process that paused."""

    def clear(self) -> None:
        """Remove what such a fork has left that could not."""


class LiveObserver(Protocol[C_contra]):
    """Who looks at what live crossings of a replay do beside their outcomes."""

    def entered(self, crossing: C_contra) -> None:
        """Note that a live crossing begins."""

    def left(self, crossing: C_contra, error: BaseException | None) -> None:
        """Note that a live crossing has ended, and what it raised."""


class Sink(Protocol):
    """Where the envelopes of one trace go. Thread-safe; raises StoreError."""

    def put(self, envelope: Envelope) -> None:
        """Keep an envelope; one with the same `seq` replaces it."""

    def extend(self, seq: int, items: Sequence[bytes]) -> None:
        """Add items to the stream of an envelope that was put before."""

    def end(self, footer: Footer | ChildEnd) -> None:
        """Keep the footer, or of a child process what it had to say."""

    def commit(self) -> None:
        """Make durable all that was put."""

    def close(self) -> None:
        """Commit, and let go of the store."""


class Record(Protocol):
    """A trace to be replayed, read as far as is needed: one of a million crossings is never whole in memory.

    Attributes:
        size: how many crossings it has.
        is_whole: whether all of it is in memory anyway.
    """

    header: Header
    footer: Footer | None
    size: int
    is_whole: bool

    def __iter__(self) -> Iterator[Envelope]:
        """Read the envelopes in order of start, from the first one each time, with the memory of a few."""

    def get(self, seq: int) -> Envelope:
        """Read one envelope; KeyError where there is none."""

    def find(self, name: str, nth: int) -> Envelope | None:
        """Read the envelope of an address."""

    def boundaries(self) -> Sequence[Crossed]:
        """Return what was crossed: each name, kind and site once, in order of first start."""

    def names(self) -> Collection[str]:
        """Return the names of the crossings."""

    def sites(self) -> Collection[str]:
        """Return where: the sites that rules are for, each once, in order of first start."""

    def parents(self, names: Collection[str], kinds: Collection[str], after: int | None = None) -> set[int]:
        """Return the seqs of what encloses, at any depth, a crossing of one of these names or kinds, or one after `after`."""


class Store(Protocol):
    """Where traces live."""

    url: str | None
    """What another process opens it by, to record into it; None where none can."""

    def begin(self, header: Header) -> Sink:
        """Open a new trace."""

    def join(self, trace: str, lane: str, label: str) -> tuple[Sink, str, int]:
        """Open a trace that another process began; gives also the lane that is ours, and our first seq.

        That is one of a name below a lane, or with an empty name the lane itself, where no other process has it.
        """

    def children(self, reference: str) -> list[Child]:
        """List the child processes that were recorded into a trace."""

    def count(self, trace: str) -> int:
        """Count the crossings of the trace of an id."""

    def counts(self, reference: str) -> dict[str, int]:
        """Count the crossings of a trace by name."""

    def summaries(self) -> list[TraceSummary]:
        """List the traces, oldest first."""

    def find(self, reference: str) -> str:
        """Return the id that a name, an id, its prefix or `last` means; TraceNotFoundError says what is near."""

    def outline(self, reference: str) -> tuple[Header, Footer | None]:
        """Read header and footer."""

    def load(self, reference: str) -> Trace:
        """Read a trace whole."""

    def record(self, reference: str) -> Record:
        """Open a trace to be replayed."""

    def envelopes(self, reference: str) -> Iterator[Envelope]:
        """Read the envelopes of a trace one by one, in order of start."""

    def drop(self, ids: Sequence[str]) -> None:
        """Drop traces by their ids, and give their room back; what isn't there is passed over."""

    def close(self) -> None:
        """Let go of the store."""
