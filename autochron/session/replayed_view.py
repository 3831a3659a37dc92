"""What a test asks a replay: crossings by address, what was called, in which order, and what was live."""

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
        name, nth, address: what it is called by, as in the record: `place_order[1]`.
        kind: `model`, `tool`, `router` or `ambient`.
        live: whether it ran for real.
        input: what it was given in this replay: parameter to value, as JSON data; of a model call the request that was sent.
        recorded: its record; None where it was not recorded.
        replayed: how it went, as a trace keeps it.
    """

    __slots__ = ("_given", "_met", "_told", "recorded", "replayed")

    def __init__(self, replayed: Replayed, met: LogEntry | None, told: Iterable[Divergence]) -> None:
        self.replayed = replayed
        self.recorded = replayed.recorded
        self._met = met
        self._told = tuple(told)
        self._given: list[Any] = []
        """What was asked of it: results and inputs that were made for that."""

    def gave(self, value: object) -> bool:
        """Return whether a value is what was asked of it, and not one that is equal."""
        return any(each is value for each in self._given)

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
        """What the boundary stands for."""
        return self._envelope.kind

    @property
    def lane(self) -> str:
        """The task or thread that it was in."""
        return self._envelope.lane

    @property
    def live(self) -> bool:
        """Whether it ran for real."""
        return self.replayed.mode == "live"

    @property
    def invented(self) -> bool:
        """Whether it is an ambient value that was not recorded, and was made up of the trace's time or of chance."""
        return self.replayed.mode == "invented"

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """Where it and its record disagree."""
        return self._told

    @property
    def input(self) -> Any:
        """What it was given in this replay, as JSON data."""
        return self._handed(self._envelope.arguments)

    def _handed(self, value: Any) -> Any:
        self._given = [*self._given[-3:], value]
        return value

    @property
    def error(self) -> BaseException | None:
        """What it raised, or None."""
        if self._met is not None and self._met.error is not None:
            return self._met.error
        end = _end_of(self._envelope)
        if not isinstance(end, Raised):
            return None
        error: BaseException = codec.decode(end.error)
        return error

    @property
    def result(self) -> Any:
        """What it returned, or with a stream its return value; raises what it raised.

        Raises:
            CodecError: it can't be made again in this program.
        """
        error = self.error
        if error is not None:
            raise error
        return self._handed(self._returned())

    def _returned(self) -> Any:
        met, envelope = self._met, self._envelope
        if self._is_streamed_by_http():
            raise CodecError(f"{self.address} gave a stream, which the agent has read; ask for its `.items`")
        if met is not None and met.value is not NOTHING:
            return met.value
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
        """Return an argument that was returned: as it was when it was, so with what the call changed in it."""
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
        """The items of a stream, as far as it was read; of one that came over HTTP its events, as JSON data.

        Raises:
            UsageError: it is no stream.
        """
        outcome = self._envelope.outcome
        if isinstance(outcome, Streamed):
            return [codec.decode(item) for item in outcome.items]
        if self._envelope.exchanges:
            body = bodies.read_body(self._envelope.exchanges[-1].body)
            if isinstance(body, dict) and isinstance(body.get("events"), list):
                return [each.get("data", each) for each in body["events"]]
        raise UsageError(f"{self.address} is no stream; ask for its `.result`")


_STREAMS = (b'{"events":', b'{"lines":', b'{"frames":')
"""How the stored bodies of streams begin."""


def _end_of(envelope: Envelope) -> Returned | Raised | Abandoned | Closed:
    outcome = envelope.outcome
    return outcome.end if isinstance(outcome, Streamed) else outcome


def _short(envelope: Envelope) -> str:
    text = without_types(envelope.input).decode("utf-8", "replace")
    return text if len(text) <= 160 else f"{text[:159]}…"


class Sequenced(list[str]):
    """Addresses of crossings, in order of start; a list, which is known for what it is where it is compared."""

    __slots__ = ()


class Crossings(tuple[ReplayedCrossing, ...]):
    """Crossings of a replay, in order of start."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "no crossing"

    def sequence(self) -> list[str]:
        """Return their addresses, in order of start."""
        return Sequenced(each.address for each in self)

    def only(
        self,
        *,
        kind: Kind | None = None,
        name: str | None = None,
        live: bool | None = None,
    ) -> Crossings:
        """Return those of a kind or a name, or those that were live or were not; UsageError for what is no kind."""
        if kind is not None and kind not in KINDS:  # else a slip would pass where none is expected
            raise UsageError(f"only(kind={kind!r}): a kind is one of {', '.join(KINDS)}")
        return Crossings(
            each
            for each in self
            if (kind is None or each.kind == kind)
            and (name is None or each.name == name)
            and (live is None or each.live == live)
        )

    def called(self, name: str, /, **arguments: Any) -> Called:
        """Return the crossings of a name that were given these arguments among others; true where there is one.

        A value may be anything that compares: `called("refund", amount=pytest.approx(9.5), note=unittest.mock.ANY)`.
        """
        named = self.only(name=name)
        found = Called(each for each in named if _fits(each.input, arguments))
        if not found:
            asked = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            found.told = _said(name, asked, named)
        return found


def _fits(given: Any, arguments: Mapping[str, Any]) -> bool:
    if not isinstance(given, dict):
        return False
    return all(expected == given.get(name, _ABSENT) for name, expected in arguments.items())


class Called(Crossings):
    """What `called` found. Where that is nothing, its text says what the calls of that name were given."""

    told = "no crossing"

    def __repr__(self) -> str:
        return super().__repr__() if self else self.told


def _said(name: str, asked: str, named: Crossings) -> str:
    if not named:
        return f"no crossing of {name}"
    # In one line: so pytest shows it.
    given = "; ".join(f"{each.address} was given {_short(each.replayed.envelope)}" for each in named)
    return f"no {name}({asked}); {given}"


def gathered(
    replayed: Iterable[tuple[Replayed, LogEntry | None]], divergences: Iterable[Divergence]
) -> Crossings:
    """Return the crossings of a replay, each with what is told of it."""
    told: dict[str, list[Divergence]] = {}
    for each in divergences:
        told.setdefault(each.address, []).append(each)
    return Crossings(ReplayedCrossing(one, met, told.get(one.envelope.address, ())) for one, met in replayed)


def crossing_at(
    crossings: Crossings, address: str, recorded: Callable[[str, int], Envelope | None]
) -> ReplayedCrossing:
    """Return the crossing of an address, or the only one of a name.

    Raises:
        NotCrossedError: there is none, or more than one; it says what there is.
    """
    if not isinstance(address, str):
        raise UsageError(f"replay[{address!r}]: give an address, such as 'issue_refund[1]', or a name")
    parts = split_address(address)
    named = crossings.only(name=address if parts is None else parts[0])
    found = [each for each in named if parts is None or each.nth == parts[1]]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotCrossedError(f"{address} crossed {len(found)}×; say which: {', '.join(named.sequence())}")
    if parts is not None and recorded(*parts) is not None:
        raise NotCrossedError(
            f"{address} was recorded and did not happen in this replay; what did: {_listed(crossings)}"
        )
    raise NotCrossedError(f"no crossing {address} in this replay; there {_listed(named or crossings)}")


def _listed(crossings: Crossings) -> str:
    names = crossings.sequence()
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return f"are {shown}" if names else "are none"
