"""What has the order of a set, or the place of an object in memory, in a replay of `impact`: as it is, or in another way.

The project's modules are compiled so that each such value passes through here. Where none is perturbed, sets and hashes of
text stay as they are, for all replays have one seed of hashes. Addresses are numbered in the order in which they are asked
for: what a process happens to put where would else change from one replay to the next.
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
from autochron.detect.scan.flow import qualname_of
from autochron.diagnostics.check import package_of, texts_of
from autochron.impact.alternative_orders import (
    Hashed,
    OrderedFrozenSet,
    OrderedSet,
    Popping,
    ShownPlace,
    fingerprint,
    going,
    has_one_order,
    hashes_alike,
    hashes_by_place,
    in_order,
    is_moved,
    other_address,
    other_hash,
    other_order,
    readdressed,
    shows_place,
)
from autochron.impact.rewrite import NAME, Instead, instead
from autochron.impact.tape import Perturbing, lane_name, site_key
from autochron.model import Impact, Site
from autochron.project import read_source

if TYPE_CHECKING:
    from autochron.project import Project

_MOST = 1_000
"""Contents of one site that are told apart."""
_HOLDING = (str, bytes, tuple, list, dict, set, frozenset)
"""What may be shown with an object in it, and isn't that."""


class Ordered(NamedTuple):
    """What became of the wrapped expressions of a replay."""

    keys: frozenset[str]
    """The sites of the modules that were compiled so."""
    contents: Mapping[str, frozenset[int]]
    """By each site that was come to what it was given, as numbers that are the same where the order of that is."""
    unknown: frozenset[str]
    """The sites that were given what has no other order, hash or text that is known."""


NOTHING = Ordered(frozenset(), {}, frozenset())


class ProjectSources:
    """The project's modules, compiled once in the process that is forked, or where they are loaded."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._found: dict[str, Instead | None] = {}
        self._codes: dict[str, CodeType] = {}
        self.keys: set[str] = set()
        """The sites of those that were loaded."""
        self.sites: dict[str, Impact] = {}
        """What they are, also where the scan doesn't know whether they are any."""

    def code(self, file: str, code: CodeType) -> CodeType:
        """Return the code that runs in the place of what Python has loaded from a file."""
        name = code.co_filename
        if not self._project.owns(file):
            return code
        found = self._instead(file)
        if found is None:
            return code
        self.keys |= found.sites.keys()
        if name not in self._codes:
            try:
                self._codes[name] = found.compiled(name)
            except (SyntaxError, ValueError, RecursionError):
                self.keys -= found.sites.keys()
                return code
        return self._codes[name]

    def prepare(self, files: Iterable[str]) -> None:
        """Compile files for the processes to come."""
        for file in files:
            found = self._instead(file)
            if found is not None:
                try:
                    self._codes[file] = found.compiled(file)
                except (SyntaxError, ValueError, RecursionError):
                    self._found[file] = None

    def _instead(self, file: str) -> Instead | None:
        if file not in self._found:
            self._found[file] = self._read(file)
        return self._found[file]

    def _read(self, file: str) -> Instead | None:
        source, name = read_source(file), self._project.name(file)
        if source is None:
            return None
        try:
            found = instead(source, package_of(file), lambda order: site_key(order.call, name, order.line))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        texts = texts_of(source)
        for key, order in found.sites.items():
            site = Site(name, order.line, qualname_of(order.spot), hash_of(texts[order.line - 1]))
            self.sites[key] = Impact(
                site=site, category=order.category, call=order.call, count=0, tier="direct"
            )
        return found


class Ordering:
    """The function that the values pass through, in one replay."""

    def __init__(self, values: Perturbing) -> None:
        self._values = values
        self._contents: dict[str, set[int]] = {}
        self._unknown: set[str] = set()
        self._places: dict[int, int] = {}
        """By address the number in its place."""
        self._asked = 0
        """How many addresses were asked for."""
        self._held: list[object] = []
        self._counts: dict[str, int] = {}
        self._own = unpatched.getpid()
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
        """Be there for the modules that are loaded from now on."""
        setattr(builtins, NAME, self)

    def told(self, keys: set[str]) -> Ordered:
        """Say what became of the sites of these modules."""
        contents = {key: frozenset(each) for key, each in list(self._contents.items())}
        return Ordered(frozenset(keys), contents, frozenset(self._unknown))

    def __call__(self, key: str, kind: str, value: Any) -> Any:
        return self._by_kind[kind](key, value)

    def _variant(self, key: str) -> int | None:
        variant = self._values.variants.get(key)
        if variant is not None:
            self._values.varied.add(key)
        return variant

    def _came(self, key: str, content: int) -> None:
        contents = self._contents.setdefault(key, set())
        if len(contents) < _MOST:
            contents.add(content)

    # --- sets ---------------------------------------------------------------------------------------------------------

    def _is_moved(self, key: str, value: Any) -> tuple[int | None, list[Any] | None]:
        """Note what a site is given; gives the variant in which it is to be, and the order without it.

        No order means that it stays as it is.
        """
        if not isinstance(value, set | frozenset):
            if not isinstance(value, dict | list | tuple | str | bytes):
                self._unknown.add(key)
            self._contents.setdefault(key, set())
            return None, None
        self._came(key, self._told_apart(lambda: fingerprint(value)))
        if has_one_order(value):
            return None, None
        self._values.replaceable.add(key)
        variant, order = self._variant(key), in_order(value)
        return variant, order if variant is not None or is_moved(order, value) else None

    def _iterated(self, key: str, value: Any) -> Any:
        variant, order = self._is_moved(key, value)
        return value if order is None else going(_moved(order, variant), value)

    def _set(self, key: str, value: Any) -> Any:
        if isinstance(value, set | frozenset) and type(value) not in {set, frozenset}:
            self._contents.setdefault(key, set())
            self._unknown.add(key)  # of a class of its own, whose like isn't made so easily
            return value
        variant, order = self._is_moved(key, value)
        if order is None:
            return value
        order = _moved(order, variant)
        return OrderedSet(order) if type(value) is set else OrderedFrozenSet(order)

    def _popped(self, key: str, value: Any) -> Any:
        if not isinstance(value, set) or type(value).pop is not set.pop:
            self._contents.setdefault(key, set())
            return value
        variant, order = self._is_moved(key, value)
        return value if order is None else Popping(value, lambda: _moved(in_order(value), variant)[0])

    def _told_apart(self, content: Callable[[], int]) -> int:
        """Return a content's number; where an address is asked for in it, it is of this process, as addresses are."""
        before = self._asked
        found = content()
        return found if self._asked == before else hash((self._own, found))

    # --- places -------------------------------------------------------------------------------------------------------

    def _place(self, key: str, address: int, holder: object, *, moves: bool = True) -> int:
        """Return the number in an address's place, or its variant; it is good as long as what holds the address is there."""
        self._asked += 1
        place = self._places.get(address)
        if place is None:
            lane = lane_name()
            self._counts[lane] = nth = self._counts.get(lane, 0) + 1
            place = (0x7E << 40) + ((crc32(lane.encode()) & 0xFF) << 24) + (nth << 6) + 16
            place = self._places.setdefault(address, place)
            self._hold(address, holder)
        self._came(key, hash((self._own, place)))  # of this process: in no other one is it the same
        variant = self._variant(key) if moves else None
        return place if variant is None else other_address(place, variant)

    def _hold(self, address: int, holder: object) -> None:
        """Forget an address with its object, for the next one at it is another; or keep the object, where nothing tells."""
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
        was = repr(value)
        text = readdressed(was, lambda address: self._place(key, address, value))
        if text == was:
            return value
        self._values.replaceable.add(key)
        return ShownPlace(value, text)

    # --- hashes -------------------------------------------------------------------------------------------------------

    def _other_hash(self, key: str, value: Any) -> int:
        found = hash(value)
        if hashes_by_place(value):
            found = self._place(key, id(value), value, moves=False) >> 4
        else:
            self._came(key, self._told_apart(lambda: hash(value)))
            if hashes_alike(value):
                return found
        self._values.replaceable.add(key)
        variant = self._variant(key)
        return found if variant is None else other_hash(found, variant)

    def _hash(self, key: str, function: Any) -> Any:
        self._contents.setdefault(key, set())
        return (lambda value, /: self._other_hash(key, value)) if function is hash else function

    def _hashed(self, key: str, value: Any) -> Any:
        self._contents.setdefault(key, set())
        return value if isinstance(value, type) else Hashed(self._other_hash(key, value))


def _moved(order: list[Any], variant: int | None) -> list[Any]:
    return order if variant is None or len(order) < 2 else other_order(order, variant)
