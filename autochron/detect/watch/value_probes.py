"""Look at values as a program runs: sets whose order reaches it, and objects whose text has their address.

Source often doesn't tell what a parameter or an attribute holds. So the modules of the project are compiled anew, with each
expression of unknown value that is iterated or made text passing through a probe. A probe returns the value itself and calls
nothing of the program's; it only looks at types. This takes time in each such expression, so it is for `run --strict`.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from threading import Thread
from types import CodeType, MappingProxyType
from typing import Any, cast

from autochron.detect.line_hash import hash_of
from autochron.detect.rewriting import NAME, RewrittenModule, rewrite
from autochron.detect.scan.flow import qualname_of
from autochron.detect.steadiness import has_one_order, hashes_alike, hashes_by_place, shows_place
from autochron.model import Category, Covered, Finding, Site
from autochron.project import package_of, read_source, texts_of

_QUIET = frozenset({str, bytes, int, float, bool, complex, type(None), type})
"""Types whose values have no address in their text."""
_LISTED = frozenset({list, tuple, dict, range})
"""Types that are iterated in an order of their own."""
_CONTAINERS = (list, tuple, set, frozenset)
_MOST = 100
"""The most elements of a container that are looked at."""
_DEPTH = 4
"""How deep the values in a container are looked at."""
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,16}\b")
_DEFAULT_REPR: Any = object.__repr__
_DEFAULT_STR: Any = object.__str__
_DEFAULT_ERROR_TEXT: Any = BaseException.__str__


class ValueProbes:
    """The probes of one program."""

    def __init__(
        self, owns: Callable[[str], bool], name: Callable[[str], str], is_inside: Callable[[], bool]
    ) -> None:
        """Take what the probes have to know of the session.

        Args:
            owns: returns whether a file is the project's.
            name: returns the name of a file as findings have it.
            is_inside: returns whether a boundary is being crossed around the running code.
        """
        self._owns = owns
        self._name = name
        self._is_inside = is_inside
        self._codes: dict[str, CodeType] = {}
        self._sites: dict[str, Site] = {}
        self._counts: dict[tuple[str, tuple[Category, str], bool], int] = {}
        """By key, by category and source, and by whether it was inside a boundary: how often the site got such a value."""
        self._text_types: dict[type, bool] = {}
        """Types of C, and whether their text has an address."""

    def begin(self) -> None:
        """Become the builtin that rewritten modules call."""
        setattr(builtins, NAME, self)

    def forget(self) -> None:
        """Reset all counts to zero."""
        self._counts.clear()

    def code(self, file: str, code: CodeType) -> CodeType:
        """Return the rewritten code of a file; the code itself for a file of others, or one that can't be rewritten."""
        if not self._owns(file):
            return code
        if file not in self._codes:
            try:
                module = self._rewritten(file)
                self._codes[file] = code if module is None else module.compiled(code.co_filename)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._codes[file] = code
        return self._codes[file]

    def _rewritten(self, file: str) -> RewrittenModule | None:
        source, name = read_source(file), self._name(file)
        if source is None:
            return None
        module = rewrite(
            source, package_of(file), lambda order: f"{order.call}@{name}:{order.line}", only_seen=True
        )
        texts = texts_of(source)
        for key, order in module.sites.items():
            self._sites[key] = Site(name, order.line, qualname_of(order.spot), hash_of(texts[order.line - 1]))
        return module

    def findings(self) -> list[Finding]:
        """Return the findings so far, sorted by site."""
        found = []
        for (key, (category, call), is_inside), count in list(self._counts.items()):
            covered: Covered | None = "boundary" if is_inside else None
            found.append(
                Finding(
                    site=self._sites[key],
                    category=category,
                    call=call,
                    count=count,
                    tier="direct",
                    covered=covered,
                )
            )
        return sorted(found, key=lambda finding: (finding.site.file, finding.site.line, finding.call))

    def __call__(self, key: str, kind: str, value: Any) -> Any:
        own = type(value)
        if (own in _QUIET and kind != "hashed") or (own in _LISTED and kind == "iterated"):
            return value  # first, since most are
        found = self._found(kind, value)
        if found is not None:
            place = key, found, self._is_inside()
            self._counts[place] = self._counts.get(place, 0) + 1
        return value

    def _found(self, kind: str, value: Any) -> tuple[Category, str] | None:
        """Return the category and the source of what a site makes of a value; None if it is the same in each process."""
        match kind:
            case "text" if self._shows_address(value):
                return "identity", "object.__repr__"
            case "text" if _shows_set(value, _DEPTH):
                return "set-order", "set.__repr__"
            case "each" if type(value) in _CONTAINERS and self._shows_address(value):
                return "identity", "object.__repr__"
            case "hashed" if _hash_differs(value):
                return "identity" if hashes_by_place(value) else "set-order", "hash"
            case "holding" if _holds_set(value, _DEPTH):
                return "set-order", "set.__iter__"
            case "iterated" | "set" if isinstance(value, set | frozenset) and not has_one_order(value):
                return "set-order", "set.__iter__"
            case "popped" if isinstance(value, set) and not has_one_order(value):
                return "set-order", "set.pop"
        return None

    # --- text ---------------------------------------------------------------------------------------------------------

    def _shows_address(self, value: Any, depth: int = _DEPTH) -> bool:
        """Return whether the text of a value has an address: its own, or that of something that it holds."""
        kind: Any = type(value)
        if kind in _QUIET:
            return False
        if isinstance(value, BaseException):
            held: Iterable[Any] | None = value.args if kind.__str__ is _DEFAULT_ERROR_TEXT else ()
        else:
            held = _held_by(value)
        if held is None:
            return self._shows_own(value)
        return depth > 0 and any(self._shows_address(each, depth - 1) for each in _first_of(held))

    def _shows_own(self, value: Any) -> bool:
        """Return whether the text of a value has its own address."""
        kind: Any = type(value)
        if kind.__repr__ is _DEFAULT_REPR:
            return bool(kind.__str__ is _DEFAULT_STR)
        if kind.__module__ == "unittest.mock" or isinstance(value, Thread):
            return True  # its text has an identifier of its own
        is_standard = kind.__module__.partition(".")[0] in sys.stdlib_module_names
        if not shows_place(value) and not is_standard:
            return False
        known = self._text_types.get(kind)
        if known is None:
            try:
                known = _ADDRESS.search(repr(value)) is not None
            except Exception:
                known = False
            self._text_types[kind] = known
        return known


def _held_by(value: Any) -> Iterable[Any] | None:
    """Return what the text of a value is made of; None if it holds nothing that its text shows."""
    kind = type(value)
    if kind in _CONTAINERS or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return cast("Iterable[Any]", value)
    if kind is dict or kind is defaultdict:
        return [*value.keys(), *value.values()] if len(value) <= _MOST else value.values()
    is_model = str(getattr(kind.__str__, "__module__", "")).startswith("pydantic.")
    if is_model or (kind.__str__ is _DEFAULT_STR and _is_made_of_fields(kind)):
        return cast("Iterable[Any]", getattr(value, "__dict__", {}).values())
    return None


def _first_of(values: Iterable[Any]) -> list[Any]:
    """Return the first elements of a container; none if another thread changes it meanwhile."""
    try:
        return [value for value, _ in zip(values, range(_MOST), strict=False)]
    except RuntimeError:
        return []


def _shows_set(value: Any, depth: int) -> bool:
    """Return whether the text of a value has a set of which the order differs."""
    if isinstance(value, set | frozenset):
        return not has_one_order(value)
    held = _held_by(value) if depth and type(value) not in _QUIET else None
    return held is not None and any(_shows_set(each, depth - 1) for each in _first_of(held))


def _holds_set(value: Any, depth: int) -> bool:
    """Return whether a value is a set of which the order differs, or holds one, also in the fields of a model."""
    if isinstance(value, set | frozenset):
        return not has_one_order(value)
    kind = type(value)
    if kind in _QUIET or not depth:
        return False
    held = _held_by(value)
    if (
        held is None
        and not isinstance(value, type)
        and type(getattr(kind, "__dict__", None)) is MappingProxyType
    ):
        fields = value.__dict__ if "__dict__" in dir(kind) else {}
        held = fields.values() if type(fields) is dict else ()
    return any(_holds_set(each, depth - 1) for each in _first_of(held or ()))


def _hash_differs(value: Any) -> bool:
    """Return whether the hash of a value differs from one process to the next."""
    if isinstance(value, tuple | frozenset):
        return any(map(_hash_differs, value))
    return not hashes_alike(value)


def _is_made_of_fields(kind: Any) -> bool:
    """Return whether the text of an instance is made of its fields, as that of a dataclass or a model is."""
    own = kind.__repr__
    if hasattr(kind, "__dataclass_fields__"):
        return hasattr(own, "__wrapped__")
    if kind.__module__ in ("argparse", "types"):
        return kind.__name__ in ("Namespace", "SimpleNamespace")
    return str(getattr(own, "__module__", "")).startswith(("pydantic.", "attr"))
