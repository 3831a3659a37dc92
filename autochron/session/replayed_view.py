"""A replay as a test sees it: crossings by address, what was called, in which order, and what was live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.json import decode, encode

from autochron.envelope import bodies, codec
from autochron.envelope.type_trees import without_types
from autochron.errors import CodecError, NotCrossedError, UsageError
from autochron.model import (
    KINDS,
    Abandoned,
    Closed,
    Divergence,
    Envelope,
    Kind,
    Raised,
    Replayed,
    Returned,
    Streamed,
)
from autochron.replaying.log import NOTHING, LogEntry
from autochron.replaying.plan import split_address

if TYPE_CHECKING:
    from collections.abc import Callable

_ABSENT: Any = object()


class ReplayedCrossing:
    """One crossing of a replay.

    Attributes:
        name, nth, address: what it is called, as in the record: `place_order[1]`.
        kind: `model`, `tool`, `router` or `ambient`.
        live: whether it ran for real.
        input: its input in this replay: parameter to value, as JSON data; of a model call the request that was sent.
        recorded: its record; None if it was not recorded.
        replayed: how it went, as a trace keeps it.
    """

    __slots__ = ("_divergences", "_entry", "_handed_out", "recorded", "replayed")

    def __init__(self, replayed: Replayed, entry: LogEntry | None, divergences: Iterable[Divergence]) -> None:
        self.replayed = replayed
        self.recorded = replayed.recorded
        self._entry = entry
        self._divergences = tuple(divergences)
        self._handed_out: list[Any] = []
        """The last results and inputs that a test has read from it."""

    def gave(self, value: object) -> bool:
        """Return whether a value is one of the objects that a test has read from it, and not only equal."""
        return any(returned is value for returned in self._handed_out)

    def __repr__(self) -> str:
        return f"<{self.address} {self.kind}, {self.replayed.mode}, given {_short(self.replayed.envelope)}>"

    @property
    def _envelope(self) -> Envelope:
        return self.replayed.envelope

    @property
    def name(self) -> str:
        """The boundary's name."""
        return self._envelope.name

    @property
    def nth(self) -> int:
        """The occurrence, from 1."""
        return self._envelope.nth

    @property
    def address(self) -> str:
        """Name and occurrence."""
        return self._envelope.address

    @property
    def kind(self) -> Kind:
        """The kind of the boundary."""
        return self._envelope.kind

    @property
    def lane(self) -> str:
        """The lane: the task, thread or process in which it ran."""
        return self._envelope.lane

    @property
    def live(self) -> bool:
        """Whether it ran for real."""
        return self.replayed.mode == "live"

    @property
    def invented(self) -> bool:
        """Whether it is an ambient value that was not recorded, and was made up from the trace's time or by chance."""
        return self.replayed.mode == "invented"

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """Where it and its record disagree."""
        return self._divergences

    @property
    def input(self) -> Any:
        """The input in this replay, as JSON data."""
        return self._hand_out(self._envelope.arguments)

    def _hand_out(self, value: Any) -> Any:
        self._handed_out = [*self._handed_out[-3:], value]
        return value

    @property
    def error(self) -> BaseException | None:
        """The exception that it raised, or None."""
        if self._entry is not None and self._entry.error is not None:
            return self._entry.error
        end = _end_of(self._envelope)
        if not isinstance(end, Raised):
            return None
        error: BaseException = codec.decode(end.error)
        return error

    @property
    def result(self) -> Any:
        """What it returned; of a stream its return value. An exception of the crossing is raised.

        Raises:
            CodecError: the value can't be rebuilt in this program.
        """
        error = self.error
        if error is not None:
            raise error
        return self._hand_out(self._returned())

    def _returned(self) -> Any:
        entry, envelope = self._entry, self._envelope
        if self._is_streamed_by_http():
            raise CodecError(f"{self.address} gave a stream, which the agent has read; ask for its `.items`")
        if entry is not None and entry.value is not NOTHING:
            return entry.value
        end = _end_of(envelope)
        if isinstance(end, Returned) and not (envelope.reenters or end.argument):
            return codec.decode(end.value)
        if isinstance(end, Returned) and end.argument:
            return self._argument(end.argument)
        if envelope.reenters and envelope.exchanges:
            return bodies.read_body(envelope.exchanges[-1].body)
        if isinstance(end, Closed):
            raise CodecError(f"{self.address} gave no result: its stream was closed; ask for its `.items`")
        raise CodecError(f"{self.address} gave no result: it has not ended; of a stream ask for its `.items`")

    def _is_streamed_by_http(self) -> bool:
        exchanges = self._envelope.exchanges or (() if self.recorded is None else self.recorded.exchanges)
        return bool(exchanges) and exchanges[-1].body.startswith(_STREAMS)

    def _argument(self, path: str) -> Any:
        """Return an argument that the crossing returned, with the changes that the call made in it."""
        name, _, member = path.partition(".")
        changed = {} if self._envelope.changed is None else decode(self._envelope.changed)
        if name in changed:
            value = codec.decode(encode(changed[name]))
        elif name in self.input:
            value = self.input[name]
        else:
            raise CodecError(f"{self.address} returned its argument {name}, which is not on record")
        if not member:
            return value
        return value[member] if isinstance(value, dict) else value[int(member)]

    @property
    def items(self) -> list[Any]:
        """The items of a stream that were read; of a stream over HTTP its events, as JSON data.

        Raises:
            UsageError: it is no stream.
        """
        outcome = self._envelope.outcome
        if isinstance(outcome, Streamed):
            return [codec.decode(item) for item in outcome.items]
        if self._envelope.exchanges:
            body = bodies.read_body(self._envelope.exchanges[-1].body)
            if isinstance(body, dict) and isinstance(body.get("events"), list):
                return [event.get("data", event) for event in body["events"]]
        raise UsageError(f"{self.address} is no stream; ask for its `.result`")


_STREAMS = (b'{"events":', b'{"lines":', b'{"frames":')
"""How stored bodies of streams begin."""


def _end_of(envelope: Envelope) -> Returned | Raised | Abandoned | Closed:
    outcome = envelope.outcome
    return outcome.end if isinstance(outcome, Streamed) else outcome


def _short(envelope: Envelope) -> str:
    text = without_types(envelope.input).decode("utf-8", "replace")
    return text if len(text) <= 160 else f"{text[:159]}…"


class Sequenced(list[str]):
    """Addresses of crossings, in order of start. A class of its own, so that a comparison with it is recognized."""

    __slots__ = ()


class Crossings(tuple[ReplayedCrossing, ...]):
    """Crossings of a replay, in order of start."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "no crossing"

    def sequence(self) -> list[str]:
        """Return the addresses of the crossings, in order of start."""
        return Sequenced(crossing.address for crossing in self)

    def only(
        self,
        *,
        kind: Kind | None = None,
        name: str | None = None,
        live: bool | None = None,
    ) -> Crossings:
        """Return the crossings that fit each of the criteria.

        Args:
            kind: kind of the boundary.
            name: name of the boundary.
            live: whether it was live.

        Raises:
            UsageError: there is no such kind.
        """
        if (
            kind is not None and kind not in KINDS
        ):  # a misspelt kind must not pass a test that expects no crossing
            raise UsageError(f"only(kind={kind!r}): a kind is one of {', '.join(KINDS)}")
        return Crossings(
            crossing
            for crossing in self
            if (kind is None or crossing.kind == kind)
            and (name is None or crossing.name == name)
            and (live is None or crossing.live == live)
        )

    def called(self, name: str, /, **arguments: Any) -> Called:
        """Return the crossings of a name whose inputs include these arguments. The result is true if there is one.

        An expected value may be anything that compares: `called("refund", amount=pytest.approx(9.5),
        note=unittest.mock.ANY)`.
        """
        named = self.only(name=name)
        matches = Called(crossing for crossing in named if _fits(crossing.input, arguments))
        if not matches:
            expected = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            matches.explanation = _explain(name, expected, named)
        return matches


def _fits(recorded_input: Any, arguments: Mapping[str, Any]) -> bool:
    if not isinstance(recorded_input, dict):
        return False
    return all(expected == recorded_input.get(name, _ABSENT) for name, expected in arguments.items())


class Called(Crossings):
    """The crossings that `called` found. If there are none, the representation shows the inputs of all calls of that name."""

    explanation = "no crossing"

    def __repr__(self) -> str:
        return super().__repr__() if self else self.explanation


def _explain(name: str, expected: str, named: Crossings) -> str:
    if not named:
        return f"no crossing of {name}"
    # In one line, for pytest shows only that much.
    inputs = "; ".join(
        f"{crossing.address} was given {_short(crossing.replayed.envelope)}" for crossing in named
    )
    return f"no {name}({expected}); {inputs}"


def gathered(
    replayed: Iterable[tuple[Replayed, LogEntry | None]], divergences: Iterable[Divergence]
) -> Crossings:
    """Return the crossings of a replay, each with its divergences.

    Args:
        replayed: the crossings; each with its log entry if it happened in this process.
        divergences: where replay and record disagree.
    """
    by_address: dict[str, list[Divergence]] = {}
    for divergence in divergences:
        by_address.setdefault(divergence.address, []).append(divergence)
    return Crossings(
        ReplayedCrossing(crossing, entry, by_address.get(crossing.envelope.address, ()))
        for crossing, entry in replayed
    )


def crossing_at(
    crossings: Crossings, address: str, recorded: Callable[[str, int], Envelope | None]
) -> ReplayedCrossing:
    """Return the crossing of an address, or the only one of a name.

    Args:
        crossings: the crossings of the replay.
        address: the address, or the name.
        recorded: returns a recorded crossing by name and occurrence.

    Raises:
        NotCrossedError: there is none, or there are several. The message names what there is.
        UsageError: the address is no string.
    """
    if not isinstance(address, str):
        raise UsageError(f"replay[{address!r}]: give an address, such as 'issue_refund[1]', or a name")
    parts = split_address(address)
    named = crossings.only(name=address if parts is None else parts[0])
    matches = [crossing for crossing in named if parts is None or crossing.nth == parts[1]]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise NotCrossedError(f"{address} crossed {len(matches)}×; say which: {', '.join(named.sequence())}")
    if parts is not None and recorded(*parts) is not None:
        raise NotCrossedError(
            f"{address} was recorded and did not happen in this replay; what did: {_listed(crossings)}"
        )
    raise NotCrossedError(f"no crossing {address} in this replay; there {_listed(named or crossings)}")


def _listed(crossings: Crossings) -> str:
    names = crossings.sequence()
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return f"are {shown}" if names else "are none"
