"""The plan of a replay: which crossings are live, and how strictly the others are held to the record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.json import decode

from autochron.errors import PlanError
from autochron.model import KINDS, Crossed, Envelope, Kind
from autochron.rules.nearest import nearest

if TYPE_CHECKING:
    from autochron.ports import Record

Inputs: TypeAlias = Literal["strict", "warn", "ignore"]
"""What a changed input of a stubbed crossing is: an error wherever nothing live lies before it, a warning, or nothing."""

INPUTS: tuple[Inputs, ...] = get_args(Inputs)

Reach: TypeAlias = Literal["network", "subprocess", "files"]
"""What a live crossing can be kept from: connections, other processes, and changes of the file system."""

REACHES: tuple[Reach, ...] = get_args(Reach)

Selector: TypeAlias = str | Callable[[Envelope], bool]
"""`NAME`, `NAME[K]`, `kind:KIND`, `after:NAME[K]`, or what tells of a recorded crossing whether it is live."""

_ADDRESS = re.compile(r"(.+)\[(\d+)\]")


class ReplayPlan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is live, settled for one record. What is not live is served."""

    seqs: frozenset[int] = frozenset()
    """Crossings by their place in the record."""
    chosen: bool = False
    """Whether a function chose among them, so that none was asked for by its address."""
    singled: frozenset[str] = frozenset()
    """The names of these."""
    names: frozenset[str] = frozenset()
    kinds: frozenset[Kind] = frozenset()
    after: int | None = None
    """All that started later is live."""
    opened: frozenset[int] = frozenset()
    """What encloses something live: its body runs, too."""
    models: bool = False
    """Whether a model call is live."""
    inputs: Inputs | None = None
    deny: frozenset[Reach] = frozenset()

    @property
    def is_full(self) -> bool:
        """Whether nothing is live."""
        return not (self.seqs or self.names or self.kinds) and self.after is None

    def means(self, crossed: Crossed) -> bool:
        """Return whether a boundary is live by its name or kind, or some crossing of it may be by its place."""
        return crossed.name in self.names or crossed.kind in self.kinds or crossed.name in self.singled

    def is_live(self, envelope: Envelope) -> bool:
        """Return whether a recorded crossing is live."""
        return (
            envelope.seq in self.seqs
            or envelope.name in self.names
            or envelope.kind in self.kinds
            # An ambient value is served also in live code: the time of that day belongs to what it is given.
            or (self.after is not None and envelope.seq > self.after and not envelope.is_value)
        )


def read_plan(path: str) -> ReplayPlan:
    """Read a plan that another process has settled."""
    with open(path, "rb") as file:
        return decode(file.read(), type=ReplayPlan)


FULL = ReplayPlan()
"""Nothing is live."""


def split_address(text: str) -> tuple[str, int] | None:
    """Return name and occurrence of an address such as `place_order[1]`; None where it is none."""
    found = _ADDRESS.fullmatch(text)
    return None if found is None else (found[1], int(found[2]))


def plan_for(
    record: Record,
    live: Selector | Iterable[Selector] = (),
    *,
    inputs: str | None = None,
    deny: str | Iterable[str] = (),
) -> ReplayPlan:
    """Settle a plan for a record.

    Raises:
        PlanError: a selector means nothing, or nothing that was recorded; it names what is near.
    """
    if live == () and deny == () and inputs is None:
        return FULL
    if inputs is not None and inputs not in INPUTS:
        raise PlanError(f"inputs={inputs!r}: it is one of {', '.join(INPUTS)}")
    denied = frozenset(_reaches(deny))
    selectors = _selectors(live)
    if not selectors:
        return FULL if inputs is None and not denied else ReplayPlan(inputs=inputs, deny=denied)
    parts = _Parts(record)
    for selector in selectors:
        parts.add(selector)
    return parts.plan(inputs, denied)


class _Parts:
    """What selectors have said so far."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self.seqs: set[int] = set()
        self.chosen = False
        self.names: set[str] = set()
        self.kinds: set[Kind] = set()
        self.after: int | None = None

    def add(self, selector: Selector) -> None:
        """Take in a selector; PlanError where it means nothing."""
        if not isinstance(selector, str):
            self._choose(selector)
            return
        head, colon, rest = selector.partition(":")
        if colon and head == "kind":
            self.kinds.add(_kind(selector, rest, self._record.boundaries()))
        elif colon and head == "after":
            point = _found(selector, rest, self._record).seq
            self.after = point if self.after is None else min(point, self.after)
        elif selector in self._record.names():
            self.names.add(selector)
        else:
            self.seqs.add(_found(selector, selector, self._record).seq)

    def _choose(self, selector: Any) -> None:
        if not callable(selector):
            raise PlanError(
                f"live={selector!r}: give names, addresses, kind:KIND, after:ADDRESS or a function"
            )
        chosen = {each.seq for each in self._record if selector(each)}
        if not chosen:  # else all would be served, and nothing tried
            name = getattr(selector, "__qualname__", repr(selector))
            raise PlanError(f"live {name}: it is true of no crossing of the trace")
        self.seqs |= chosen
        self.chosen = True

    def plan(self, inputs: Any, denied: frozenset[Reach]) -> ReplayPlan:
        """Settle the plan."""
        single = [self._record.get(seq) for seq in self.seqs]
        kinds = {*self.kinds, *[each.kind for each in single]}
        if self.names:
            kinds.update(each.kind for each in self._record.boundaries() if each.name in self.names)
        return ReplayPlan(
            seqs=frozenset(self.seqs),
            chosen=self.chosen,
            singled=frozenset([each.name for each in single]),
            names=frozenset(self.names),
            kinds=frozenset(self.kinds),
            after=self.after,
            opened=frozenset(self._opened()),
            models="model" in kinds or self.after is not None,
            inputs=inputs,
            deny=denied,
        )

    def _opened(self) -> set[int]:
        """Return what encloses something live, at any depth. What is live itself may be among it."""
        record = self._record
        found: set[int] = set()
        if self.names or self.kinds or self.after is not None:
            found = record.parents(self.names, self.kinds, self.after)
        if self.after is not None:  # it is served, so what was recorded inside does not happen
            found.discard(self.after)
        for seq in self.seqs:
            parent = record.get(seq).parent
            while parent is not None and parent not in found:
                found.add(parent)
                parent = record.get(parent).parent
        return found


def _selectors(live: Selector | Iterable[Selector]) -> Sequence[Selector]:
    if isinstance(live, str) or callable(live):
        return [live]
    try:
        return list(live)
    except TypeError:
        raise PlanError(
            f"live={live!r}: give names, addresses, kind:KIND, after:ADDRESS or a function"
        ) from None


def _reaches(deny: str | Iterable[str]) -> Iterable[Reach]:
    try:
        names = deny.split(",") if isinstance(deny, str) else list(deny)
    except TypeError:
        raise PlanError(f"deny={deny!r}: what can be denied is {', '.join(REACHES)}") from None
    for each in names:
        name = each.strip()
        if name not in REACHES:
            close = nearest(REACHES, name)
            wrong = f"{name!r} is none of them" if name else "it is empty"
            near = f"; did you mean {close}?" if name and close else ""
            raise PlanError(f"what can be denied is {', '.join(REACHES)}; {wrong}{near}")
        yield name


def _kind(selector: str, kind: str, crossed: Sequence[Crossed]) -> Kind:
    if kind not in KINDS:
        raise PlanError(f"live {selector}: a kind is one of {', '.join(KINDS)}")
    if not any(each.kind == kind for each in crossed):
        recorded = ", ".join(sorted({each.kind for each in crossed})) or "nothing"
        raise PlanError(f"live {selector}: the trace has no crossing of kind {kind}; it has {recorded}")
    return kind


def _found(selector: str, wanted: str, record: Record) -> Envelope:
    """Return the envelope of an address; PlanError names what is near."""
    address = split_address(wanted)
    if address is not None:
        found = record.find(*address)
        if found is not None:
            return found
    crossed = record.boundaries()
    if address is not None:
        counts = counts_of(crossed)
        if address[0] in counts:
            last = counts[address[0]]
            raise PlanError(
                f"live {selector}: the trace has no {wanted}; {address[0]} crossed {last}×, up to {address[0]}[{last}]"
            )
    elif selector != wanted and any(each.name == wanted for each in crossed):
        raise PlanError(f"live {selector}: say after which of its crossings, such as after:{wanted}[1]")
    name = wanted if address is None else address[0]
    raise PlanError(f"live {selector}: the trace has no crossing {wanted}; {nearest_names(name, crossed)}")


def counts_of(crossed: Iterable[Crossed]) -> dict[str, int]:
    """Count crossings by name."""
    counts: dict[str, int] = {}
    for each in crossed:
        counts[each.name] = counts.get(each.name, 0) + each.count
    return counts


def nearest_names(name: str, crossed: Iterable[Crossed]) -> str:
    """Say which recorded names are near one, or which there are."""
    import difflib  # lazy: only for an error

    counts = counts_of(crossed)
    near = difflib.get_close_matches(name, counts, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    if not counts:
        return "it has none at all"
    return f"it has {', '.join(f'{each} ({count}×)' for each, count in list(counts.items())[:12])}"
