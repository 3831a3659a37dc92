"""The plan of a replay: which crossings are live, and how strictly inputs are compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.json import decode

from autochron.errors import PlanError
from autochron.model import KINDS, Crossed, Envelope, Kind
from autochron.rules.nearest import nearest
from autochron.rules.packs import observed_sites

if TYPE_CHECKING:
    from autochron.ports import Record

Inputs: TypeAlias = Literal["strict", "warn", "ignore"]
"""What a changed input of a served crossing is: `strict` an error unless it follows from something live, `warn` a warning,
`ignore` nothing."""

INPUTS: tuple[Inputs, ...] = get_args(Inputs)

Reach: TypeAlias = Literal["network", "subprocess", "files"]
"""What can be denied to live crossings: connections, other processes, or changes of the file system."""

REACHES: tuple[Reach, ...] = get_args(Reach)

Selector: TypeAlias = str | Callable[[Envelope], bool]
"""`NAME`, `NAME[K]`, `kind:KIND`, `after:NAME[K]`, or a function that returns whether a recorded crossing is live."""

_FEW = 4
"""How many names of boundaries an error lists."""

_ADDRESS = re.compile(r"(.+)\[(\d+)\]")


class ReplayPlan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The live crossings of one record. All others are served."""

    seqs: frozenset[int] = frozenset()
    """The single crossings that are live, by `seq`."""
    chosen: bool = False
    """Whether a function chose some of `seqs`. Then none counts as named by its address."""
    singled: frozenset[str] = frozenset()
    """The names of the crossings in `seqs`."""
    names: frozenset[str] = frozenset()
    """The boundaries of which every crossing is live, by name."""
    kinds: frozenset[Kind] = frozenset()
    """The kinds of which every crossing is live, but for those at `observed` sites."""
    observed: frozenset[str] = frozenset()
    """The sites that a pack only observes. Their bodies run in every replay, so a kind doesn't mean them."""
    after: int | None = None
    """The `seq` after which every crossing is live."""
    opened: frozenset[int] = frozenset()
    """The crossings that enclose a live one, by `seq`. Their bodies run, too."""
    models: bool = False
    """Whether a model call may be live."""
    inputs: Inputs | None = None
    """How strictly inputs are compared. None is `strict` if nothing is live, else lenient for models and live crossings."""
    deny: frozenset[Reach] = frozenset()
    """What is denied to live crossings."""

    @property
    def is_full(self) -> bool:
        """Whether nothing is live."""
        return not (self.seqs or self.names or self.kinds) and self.after is None

    def means(self, crossed: Crossed) -> bool:
        """Return whether a boundary is live by its name or kind, or has a crossing that is."""
        return (
            crossed.name in self.names
            or (crossed.kind in self.kinds and crossed.site not in self.observed)
            or crossed.name in self.singled
        )

    def is_live(self, envelope: Envelope) -> bool:
        """Return whether a recorded crossing is live."""
        return (
            envelope.seq in self.seqs
            or envelope.name in self.names
            or (envelope.kind in self.kinds and envelope.site not in self.observed)
            # Ambient values are served in live code, too. The recorded time fits the recorded inputs.
            or (self.after is not None and envelope.seq > self.after and not envelope.is_value)
        )


_INSIDE = b'"inside":'
"""In the `meta` of an envelope: it lists the tools that ran at the other end of a stream."""


def read_plan(path: str) -> ReplayPlan:
    """Read a plan from a file that another process has written."""
    with open(path, "rb") as file:
        return decode(file.read(), type=ReplayPlan)


FULL = ReplayPlan()
"""The plan in which nothing is live."""


def split_address(text: str) -> tuple[str, int] | None:
    """Return name and occurrence of an address such as `place_order[1]`; None if the text is no address."""
    match = _ADDRESS.fullmatch(text)
    return None if match is None else (match[1], int(match[2]))


def plan_for(
    record: Record,
    live: Selector | Iterable[Selector] = (),
    *,
    inputs: str | None = None,
    deny: str | Iterable[str] = (),
) -> ReplayPlan:
    """Return the plan that selectors mean for a record.

    Args:
        record: the trace.
        live: which crossings are live.
        inputs: how strictly inputs are compared: one of `INPUTS`, or None for the default.
        deny: what is denied to live crossings. A text is split at commas.

    Raises:
        PlanError: a selector is not valid or fits no recorded crossing, or another argument is not valid. The message
            names similar ones.
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
    """The parts of a plan, from the selectors that were added so far."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self.seqs: set[int] = set()
        self.chosen = False
        self.names: set[str] = set()
        self.kinds: set[Kind] = set()
        self.observed: frozenset[str] = frozenset()
        self.after: int | None = None

    def add(self, selector: Selector) -> None:
        """Add a selector.

        Raises:
            PlanError: it is not valid, or fits no recorded crossing.
        """
        if not isinstance(selector, str):
            self._choose(selector)
            return
        head, colon, rest = selector.partition(":")
        if colon and head == "kind":
            boundaries = self._record.boundaries()
            self.observed |= observed_sites([boundary.site for boundary in boundaries])
            self.kinds.add(_kind(selector, rest, boundaries, self.observed))
        elif colon and head == "after":
            point = _envelope_at(selector, rest, self._record).seq
            self.after = point if self.after is None else min(point, self.after)
        elif selector in self._record.names():
            self.names.add(selector)
        else:
            self.seqs.add(_envelope_at(selector, selector, self._record).seq)

    def _choose(self, selector: Any) -> None:
        if not callable(selector):
            raise PlanError(
                f"live={selector!r}: give names, addresses, kind:KIND, after:ADDRESS or a function"
            )
        chosen = {envelope.seq for envelope in self._record if selector(envelope)}
        if not chosen:  # everything would be served, and the replay would try nothing
            name = getattr(selector, "__qualname__", repr(selector))
            raise PlanError(f"live {name}: it is true of no crossing of the trace")
        self.seqs |= chosen
        self.chosen = True

    def plan(self, inputs: Any, denied: frozenset[Reach]) -> ReplayPlan:
        """Return the plan of all selectors that were added."""
        single = [self._record.get(seq) for seq in self.seqs]
        kinds = {*self.kinds, *[envelope.kind for envelope in single]}
        if self.names:
            kinds.update(crossed.kind for crossed in self._record.boundaries() if crossed.name in self.names)
        return ReplayPlan(
            seqs=frozenset(self.seqs),
            chosen=self.chosen,
            singled=frozenset([envelope.name for envelope in single]),
            names=frozenset(self.names),
            kinds=frozenset(self.kinds),
            observed=self.observed,
            after=self.after,
            opened=frozenset(self._opened()),
            models="model" in kinds or self.after is not None,
            inputs=inputs,
            deny=denied,
        )

    def _opened(self) -> set[int]:
        """Return the `seq` numbers of all crossings that enclose a live one, at any depth. Live ones may be among them."""
        record = self._record
        opened: set[int] = set()
        if self.names or self.kinds or self.after is not None:
            opened = record.parents(self.names, self.kinds, self.after)
        if self.after is not None:  # it is served, so what was recorded inside does not happen
            opened.discard(self.after)
        for seq in self.seqs:
            parent = record.get(seq).parent
            while parent is not None and parent not in opened:
                opened.add(parent)
                parent = record.get(parent).parent
        return opened


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
    for part in names:
        name = part.strip()
        if name not in REACHES:
            close = nearest(REACHES, name)
            wrong = f"{name!r} is none of them" if name else "it is empty"
            near = f"; did you mean {close}?" if name and close else ""
            raise PlanError(f"what can be denied is {', '.join(REACHES)}; {wrong}{near}")
        yield name


def _kind(selector: str, kind: str, crossed: Sequence[Crossed], observed: Collection[str]) -> Kind:
    """Return a kind that a selector names.

    Args:
        selector: the selector, for messages.
        kind: the name of the kind.
        crossed: the recorded boundaries.
        observed: the sites that a pack only observes.

    Raises:
        PlanError: there is no such kind, or no crossing of it could be live.
    """
    if kind not in KINDS:
        raise PlanError(f"live {selector}: a kind is one of {', '.join(KINDS)}")
    others = [boundary for boundary in crossed if boundary.site not in observed]
    if not any(boundary.kind == kind for boundary in others):
        recorded = ", ".join(sorted({boundary.kind for boundary in others})) or "nothing"
        names = list(dict.fromkeys(boundary.name for boundary in crossed if boundary.kind == kind))
        shown = ", ".join(names[:_FEW]) + (", …" if len(names) > _FEW else "")
        but = f" but {shown}, which a pack only observes and every replay runs" if names else ""
        raise PlanError(f"live {selector}: the trace has no crossing of kind {kind}{but}; it has {recorded}")
    return kind


def _envelope_at(selector: str, wanted: str, record: Record) -> Envelope:
    """Return the envelope of an address.

    Args:
        selector: the selector with the address, for the message.
        wanted: the address.
        record: the trace.

    Raises:
        PlanError: there is none. The message names similar addresses.
    """
    address = split_address(wanted)
    if address is not None:
        envelope = record.find(*address)
        if envelope is not None:
            return envelope
    crossed = record.boundaries()
    if address is not None:
        counts = counts_of(crossed)
        if address[0] in counts:
            last = counts[address[0]]
            raise PlanError(
                f"live {selector}: the trace has no {wanted}; {address[0]} crossed {last}×, up to {address[0]}[{last}]"
            )
    elif selector != wanted and any(boundary.name == wanted for boundary in crossed):
        raise PlanError(f"live {selector}: say after which of its crossings, such as after:{wanted}[1]")
    name, suffix = (wanted, "") if address is None else (address[0], wanted.removeprefix(address[0]))
    for boundary in crossed:  # `mcp__calc__add` for `add`
        if name.endswith(f"__{boundary.name}") and boundary.kind == "tool":
            raise PlanError(
                f"live {selector}: the trace has no crossing {wanted}; it crosses as {boundary.name}{suffix}"
            )
    if (other_end := _ran_inside(name, record)) is not None:
        raise PlanError(
            f"live {selector}: {name} ran at the other end of {other_end}, where no code of the program is; so it is served"
            " with what came from there, and can't be live"
        )
    raise PlanError(
        f"live {selector}: the trace has no crossing {wanted}; {nearest_names(name, crossed, suffix)}"
    )


def _ran_inside(name: str, record: Record) -> str | None:
    """Return the address of a stream at whose other end a tool ran; None if there is none."""
    for envelope in record:
        if _INSIDE in envelope.meta and name in decode(envelope.meta)["inside"]:
            return envelope.address
    return None


def counts_of(crossed: Iterable[Crossed]) -> dict[str, int]:
    """Count crossings by name."""
    counts: dict[str, int] = {}
    for boundary in crossed:
        counts[boundary.name] = counts.get(boundary.name, 0) + boundary.count
    return counts


def nearest_names(name: str, crossed: Iterable[Crossed], suffix: str = "") -> str:
    """Return words that name the recorded names similar to one; if there are none, the first twelve recorded names.

    Args:
        name: the name that is not recorded.
        crossed: what is recorded.
        suffix: the rest of an address, such as `[1]`, which the similar names get, too.
    """
    import difflib  # lazy: only for an error

    counts = counts_of(crossed)
    near = difflib.get_close_matches(name, counts, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(f'{recorded}{suffix}' for recorded in near)}?"
    if not counts:
        return "it has none at all"
    return f"it has {', '.join(f'{recorded} ({count}×)' for recorded, count in list(counts.items())[:12])}"
