"""Globs over text and over dotted names. Only `*` is special: URLs and names need no escapes."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

ANY_COMPONENTS = "**"


class TextGlob(Struct, frozen=True):
    """A glob over any text: `*` matches any characters, slashes and dots too."""

    parts: tuple[str, ...]
    """The texts between the stars."""

    def fits(self, text: str) -> bool:
        """Return whether the whole text fits."""
        first, *rest = self.parts
        if not rest:
            return text == first
        last = rest.pop()
        end = len(text) - len(last)
        if not text.startswith(first) or not text.endswith(last):
            return False
        position = len(first)
        for part in rest:
            position = text.find(part, position, end)
            if position < 0:
                return False
            position += len(part)
        return position <= end


@lru_cache(maxsize=1024)
def text_glob(pattern: str) -> TextGlob:
    """Parse a text glob."""
    return TextGlob(tuple(pattern.split("*")))


class DottedGlob(Struct, frozen=True):
    """A glob over dotted names: `*` matches within a component, and a component `**` matches one or more components."""

    components: tuple[str, ...]
    careful: bool
    """Whether private, dunder and `<locals>` components must be spelled out."""

    def fits(self, name: str) -> bool:
        """Return whether the whole name fits."""
        return _fit(self.components, name.split("."), careful=self.careful)


def dotted_glob(pattern: str, *, careful: bool = False) -> DottedGlob:
    """Parse a dotted glob; with `careful` it fits private, dunder and nested names only if it spells them out."""
    return DottedGlob(tuple(pattern.split(".")), careful)


def dotted_glob_error(pattern: str) -> str | None:
    """Return what is wrong with a dotted glob, as a predicate; None if it is valid."""
    if not pattern:
        return "is empty"
    for component in pattern.split("."):
        if not component:
            return "has an empty component"
        if ANY_COMPONENTS in component and component != ANY_COMPONENTS:
            return "joins `**` to other text; it stands for whole components: `shop.**`"
        if component != "<locals>" and not component.replace("*", "_").isidentifier():
            return f"holds `{component}`; only names and `*` may stand between the dots"
    return None


def _fit(pattern: tuple[str, ...], name: list[str], *, careful: bool) -> bool:
    if not pattern:
        return not name
    if not name:
        return False
    head, rest = pattern[0], pattern[1:]
    if not _fit_component(head, name[0], careful=careful):
        return False
    if _fit(rest, name[1:], careful=careful):
        return True
    return head == ANY_COMPONENTS and _fit(pattern, name[1:], careful=careful)


def _fit_component(pattern: str, component: str, *, careful: bool) -> bool:
    if careful and not _spelled_out(pattern, component):
        return False
    return text_glob(pattern).fits(component)


def _spelled_out(pattern: str, component: str) -> bool:
    """Return whether a pattern spells out that a component is private, a dunder or nested; true for any other component."""
    if component == "<locals>":
        return pattern == component
    if component.startswith("__") and component.endswith("__"):
        return pattern.startswith("__")
    return not component.startswith("_") or pattern.startswith("_")


def with_methods(pattern: str) -> str | None:
    """Return the name glob that fits methods as well; None for one that ends in no `*`, or fits them already."""
    return f"{pattern}*" if pattern == "*" or pattern.endswith(".*") else None


DERIVED = "+."
"""Follows the name of a class whose derived classes match as well."""


def split_derived(qualnames: str) -> tuple[str, str] | None:
    """Split `Base+.name glob` into the class and the name glob; return None if it has no `+`."""
    base, plus, rest = qualnames.partition(DERIVED)
    return (base, rest) if plus else None


def split_globs(text: str) -> tuple[str, str]:
    """Split `module glob:name glob`.

    Raises:
        ValueError: it is not valid; the message is a predicate.
    """
    modules, colon, qualnames = text.partition(":")
    if not colon or ":" in qualnames:
        raise ValueError("is not of the form module glob:name glob, such as `shop.tools:*`")
    if qualnames.endswith("+"):
        raise ValueError(
            f"names no method of the classes that derive from `{qualnames[:-1]}`; write `{qualnames}.*`"
        )
    parts = split_derived(qualnames)
    if parts is not None and ("*" in modules or "*" in parts[0]):
        raise ValueError("has a `*` before its `+`; name the class that others derive from in full")
    for glob, part in ((modules, "module glob"), (qualnames.replace(DERIVED, ".", 1), "name glob")):
        error = dotted_glob_error(glob)
        if error:
            raise ValueError(f"has a {part} that {error}")
    return modules, qualnames


def split_within(text: str) -> tuple[str, str | None]:
    """Split `within` into its module glob and its name glob, which is None if there is none.

    Raises:
        ValueError: it is not valid; the message is a predicate.
    """
    modules, qualnames = split_globs(text) if ":" in text else (text, None)
    error = dotted_glob_error(modules)
    if error:
        raise ValueError(f"has a module glob that {error}")
    return modules, qualnames
