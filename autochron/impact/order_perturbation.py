"""Perturbation of set orders and memory addresses in a replay of `impact`.

`rewrite` compiles the project's modules so that each value that depends on a set's order or on an address passes through
`Ordering`. Without a variant, sets and hashes of text stay as they are, because all replays share one hash seed. Addresses
are replaced by numbers in the order in which they are asked for: real ones would differ from one replay to the next.
"""

from __future__ import annotations

import builtins
import weakref
from binascii import crc32
from collections.abc import Callable, Iterable, Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from autochron._runtime import unpatched
from autochron.detect.line_hash import hash_of
from autochron.detect.rewriting import NAME, RewrittenModule, rewrite
from autochron.detect.scan.flow import qualname_of
from autochron.detect.steadiness import has_one_order, hashes_alike, hashes_by_place, shows_place
from autochron.impact.alternative_orders import (
    AddressStandIn,
    HashStandIn,
    OrderedFrozenSet,
    OrderedSet,
    PoppingSet,
    fingerprint,
    is_moved,
    iterate_in,
    ordered_values,
    other_address,
    other_hash,
    other_order,
    with_addresses,
)
from autochron.impact.tape import Perturbing, lane_name, site_key
from autochron.model import Impact, Site
from autochron.project import package_of, read_source, texts_of

if TYPE_CHECKING:
    from autochron.project import Project

_MOST = 1_000
"""The largest number of contents that are kept for one site."""
_HOLDING = (str, bytes, tuple, list, dict, set, frozenset)
"""Types whose text may contain the address of another object, and never their own."""


class OrderReport(NamedTuple):
    """What one replay observed at the wrapped expressions."""

    keys: frozenset[str]
    """The sites of all loaded modules that were rewritten."""
    contents: Mapping[str, frozenset[int]]
    """For each site that was reached, the fingerprints of its values: equal if the values have one order."""
    unknown: frozenset[str]
    """The sites that got a value for which no other order, hash or text is known."""
    places: frozenset[int] = frozenset()
    """The numbers that stood for addresses at the wrapped expressions."""


NOTHING = OrderReport(frozenset(), {}, frozenset())


class ProjectSources:
    """The project's rewritten modules. They are compiled once before the forks, or when they are loaded."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._modules: dict[str, RewrittenModule | None] = {}
        self._codes: dict[str, CodeType] = {}
        self.keys: set[str] = set()
        """The sites of the modules that were loaded."""
        self.sites: dict[str, Impact] = {}
        """All sites by key, also those of which the scan can't tell whether their values are unordered."""

    def code(self, file: str, code: CodeType) -> CodeType:
        """Return the rewritten code of a file; the code itself for a file of others, or one that can't be rewritten."""
        name = code.co_filename
        if not self._project.owns(file):
            return code
        module = self._rewritten(file)
        if module is None:
            return code
        self.keys |= module.sites.keys()
        if name not in self._codes:
            try:
                self._codes[name] = module.compiled(name)
            except (SyntaxError, ValueError, RecursionError):
                self.keys -= module.sites.keys()
                return code
        return self._codes[name]

    def prepare(self, files: Iterable[str]) -> None:
        """Compile files before the processes are forked that load them."""
        for file in files:
            module = self._rewritten(file)
            if module is not None:
                try:
                    self._codes[file] = module.compiled(file)
                except (SyntaxError, ValueError, RecursionError):
                    self._modules[file] = None

    def _rewritten(self, file: str) -> RewrittenModule | None:
        if file not in self._modules:
            self._modules[file] = self._read(file)
        return self._modules[file]

    def _read(self, file: str) -> RewrittenModule | None:
        source, name = read_source(file), self._project.name(file)
        if source is None:
            return None
        try:
            module = rewrite(source, package_of(file), lambda order: site_key(order.call, name, order.line))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        texts = texts_of(source)
        for key, order in module.sites.items():
            site = Site(name, order.line, qualname_of(order.spot), hash_of(texts[order.line - 1]))
            self.sites[key] = Impact(
                site=site, category=order.category, call=order.call, count=0, tier="direct"
            )
        return module


class Ordering:
    """The callable that each wrapped value passes through in one replay. The rewritten code finds it as a builtin."""

    def __init__(self, values: Perturbing) -> None:
        self._values = values
        self._contents: dict[str, set[int]] = {}
        self._shown: set[int] = set()
        self._unknown: set[str] = set()
        self._places: dict[int, int] = {}
        """The number that replaces each address."""
        self._requests = 0
        """How many addresses were asked for."""
        self._held: list[object] = []
        """Weak references to the objects at these addresses, and the objects that allow none."""
        self._counts: dict[str, int] = {}
        """How many addresses each lane was the first to ask for."""
        self._process = unpatched.getpid()
        self._by_kind: dict[str, Callable[[str, Any], Any]] = {
            "iterated": self._iterated,
            "set": self._set,
            "popped": self._popped,
            "text": self._text,
            "id": self._id,
            "hash": self._hash,
            "hashed": self._hashed,
        }

    def begin(self) -> None:
        """Become the builtin that rewritten modules call."""
        setattr(builtins, NAME, self)

    def report(self, keys: set[str]) -> OrderReport:
        """Return what was observed; `keys` are the sites of all modules that were loaded."""
        contents = {key: frozenset(numbers) for key, numbers in list(self._contents.items())}
        return OrderReport(frozenset(keys), contents, frozenset(self._unknown), frozenset(self._shown))

    def __call__(self, key: str, kind: str, value: Any) -> Any:
        return self._by_kind[kind](key, value)

    def _variant(self, key: str) -> int | None:
        variant = self._values.variants.get(key)
        if variant is not None:
            self._values.varied.add(key)
        return variant

    def _note_content(self, key: str, content: int) -> None:
        contents = self._contents.setdefault(key, set())
        if len(contents) < _MOST:
            contents.add(content)

    # --- sets ---------------------------------------------------------------------------------------------------------

    def _order_of(self, key: str, value: Any) -> tuple[int | None, list[Any] | None]:
        """Note a site's value, and return its variant and its order before the variant is applied.

        The order is None where the value stays as it is.
        """
        if not isinstance(value, set | frozenset):
            if not isinstance(value, dict | list | tuple | str | bytes):
                self._unknown.add(key)
            self._contents.setdefault(key, set())
            return None, None
        self._note_content(key, self._content_number(lambda: fingerprint(value)))
        if has_one_order(value):
            return None, None
        self._values.replaceable.add(key)
        variant, order = self._variant(key), ordered_values(value)
        return variant, order if variant is not None or is_moved(order, value) else None

    def _iterated(self, key: str, value: Any) -> Any:
        variant, order = self._order_of(key, value)
        return value if order is None else iterate_in(_in_variant(order, variant), value)

    def _set(self, key: str, value: Any) -> Any:
        if isinstance(value, set | frozenset) and type(value) not in {set, frozenset}:
            self._contents.setdefault(key, set())
            self._unknown.add(key)  # a subclass, of which no equal instance can be made
            return value
        variant, order = self._order_of(key, value)
        if order is None:
            return value
        order = _in_variant(order, variant)
        return OrderedSet(order) if type(value) is set else OrderedFrozenSet(order)

    def _popped(self, key: str, value: Any) -> Any:
        if not isinstance(value, set) or type(value).pop is not set.pop:
            self._contents.setdefault(key, set())
            return value
        variant, order = self._order_of(key, value)
        return (
            value
            if order is None
            else PoppingSet(value, lambda: _in_variant(ordered_values(value), variant)[0])
        )

    def _content_number(self, content: Callable[[], int]) -> int:
        """Compute a content's number. It is specific to this process if an address was asked for meanwhile."""
        before = self._requests
        number = content()
        return number if self._requests == before else hash((self._process, number))

    # --- places -------------------------------------------------------------------------------------------------------

    def _place(self, key: str, address: int, holder: object, *, moves: bool = True) -> int:
        """Return the number that replaces an address, or its variant. It is valid as long as the holder lives."""
        self._requests += 1
        place = self._places.get(address)
        if place is None:
            lane = lane_name()
            self._counts[lane] = nth = self._counts.get(lane, 0) + 1
            place = (0x7E << 40) + ((crc32(lane.encode()) & 0xFF) << 24) + (nth << 6) + 16
            place = self._places.setdefault(address, place)
            self._hold(address, holder)
        self._note_content(key, hash((self._process, place)))  # an address means nothing in another process
        variant = self._variant(key) if moves else None
        shown = place if variant is None else other_address(place, variant)
        self._shown.add(shown)
        return shown

    def _hold(self, address: int, holder: object) -> None:
        """Forget an address when its object dies, because another object may get it; else keep the object alive."""
        if id(holder) == address:
            try:
                self._held.append(weakref.ref(holder, lambda _: self._places.pop(address, None)))
            except TypeError:
                pass
            else:
                return
        self._held.append(holder)

    def _id(self, key: str, function: Any) -> Any:
        if function is not id:
            return function

        def place(obj: object, /) -> int:
            self._values.replaceable.add(key)
            return self._place(key, id(obj), obj)

        return place

    def _text(self, key: str, value: Any) -> Any:
        self._contents.setdefault(key, set())
        if isinstance(value, _HOLDING) or not shows_place(value):
            return value
        original = repr(value)
        text = with_addresses(original, lambda address: self._place(key, address, value))
        if text == original:
            return value
        self._values.replaceable.add(key)
        return AddressStandIn(value, text)

    # --- hashes -------------------------------------------------------------------------------------------------------

    def _other_hash(self, key: str, value: Any) -> int:
        own_hash = hash(value)
        if hashes_by_place(value):
            own_hash = self._place(key, id(value), value, moves=False) >> 4
        else:
            self._note_content(key, self._content_number(lambda: hash(value)))
            if hashes_alike(value):
                return own_hash
        self._values.replaceable.add(key)
        variant = self._variant(key)
        return own_hash if variant is None else other_hash(own_hash, variant)

    def _hash(self, key: str, function: Any) -> Any:
        self._contents.setdefault(key, set())
        return (lambda value, /: self._other_hash(key, value)) if function is hash else function

    def _hashed(self, key: str, value: Any) -> Any:
        self._contents.setdefault(key, set())
        return value if isinstance(value, type) else HashStandIn(self._other_hash(key, value))


def _in_variant(order: list[Any], variant: int | None) -> list[Any]:
    return order if variant is None or len(order) < 2 else other_order(order, variant)
