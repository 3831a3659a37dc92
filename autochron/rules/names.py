"""Names of boundaries: literal text, or templates that are filled in for each call. A template never calls anything.

`{__name__}`, `{__qualname__}` and `{__module__}` are those of the definition, `{model}` and `{caller}` those of the call.
`{closure.x}` is a closure variable. All others are arguments: `{tool}`, `{tool.name}`, `{request[kind]}`, `{args[0]}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

from msgspec import Struct

from autochron.errors import RuleError
from autochron.escaping import visible
from autochron.rules.nearest import nearest

LONGEST = 200
"""Most characters of a name's part that comes from the call."""

_ESCAPE = re.compile(r"\\[xuUnrt]")

_DEFINITION = ("__name__", "__qualname__", "__module__")
_CALL = ("model", "caller")
_ALLOWED = "attributes, keys, {caller}, {model} and {closure.x}, never a call"


class NameTemplateError(ValueError):
    """A name template is not valid. The message is a predicate."""


class Access(Struct, frozen=True):
    """One step from a value to an inner one: `.attribute` or `[key]`."""

    kind: Literal["attribute", "key"]
    name: str


class Field(Struct, frozen=True):
    """One pair of braces in a template."""

    text: str
    """The text between the braces."""
    root: str
    steps: tuple[Access, ...] = ()


class NameFacts(Struct, frozen=True):
    """The facts about a call that a name may use besides the arguments."""

    name: str
    qualname: str
    module: str
    model: str | None = None
    caller: str | None = None
    closure: Mapping[str, Any] = {}


class NameTemplate(Struct, frozen=True):
    """A parsed template."""

    text: str
    parts: tuple[str | Field, ...]

    def fixed(
        self, name: str, qualname: str, module: str, captured: Mapping[str, Any] = MappingProxyType({})
    ) -> str | None:
        """Return the name if it is the same for every call of a definition or site; else None.

        Args:
            name: `__name__` of the definition.
            qualname: its `__qualname__`.
            module: its `__module__`.
            captured: values of the fields that use metavariables, by the field's text.
        """
        known = {"__name__": name, "__qualname__": qualname, "__module__": module}
        formed = []
        for part in self.parts:
            if not isinstance(part, Field):
                formed.append(part)
            elif part.root in known:
                formed.append(known[part.root])
            elif isinstance(captured.get(part.text), str):
                formed.append(captured[part.text])
            else:
                return None
        return "".join(formed)

    def form(
        self,
        arguments: Mapping[str, Any],
        facts: NameFacts,
        captured: Mapping[str, Any] = MappingProxyType({}),
    ) -> str:
        """Return the name of one call.

        Args:
            arguments: the bound arguments by parameter.
            facts: other facts about the call.
            captured: values of the fields that use metavariables, by the field's text. A RuleError is raised.

        Raises:
            RuleError: a value is missing or can't be part of a name.
        """
        formed = []
        for part in self.parts:
            captured_value = captured.get(part.text) if isinstance(part, Field) else None
            if isinstance(captured_value, RuleError):
                raise captured_value
            formed.append(
                captured_value or (self.value(part, arguments, facts) if isinstance(part, Field) else part)
            )
        return "".join(formed)

    def value(self, field: Field, arguments: Mapping[str, Any], facts: NameFacts) -> str:
        """Return a field's value as text.

        Raises:
            RuleError: the value is missing, empty, or neither text nor an integer.
        """
        try:
            value, steps = _root(field, arguments, facts)
            for step in steps:
                value = _follow(value, step)
        except (LookupError, AttributeError, TypeError) as error:
            raise RuleError(f"{_where(facts)} can't form `{self.text}`: {field.text} isn't there") from error
        if isinstance(value, bool) or not isinstance(value, str | int):
            kind = type(value).__name__
            raise RuleError(
                f"{_where(facts)} can't form `{self.text}`: {field.text} is of type {kind}, "
                "and a name takes text or a number"
            )
        if value == "":
            raise RuleError(f"{_where(facts)} can't form `{self.text}`: {field.text} is empty")
        return _encoded(str.__str__(value)) if isinstance(value, str) else int.__repr__(value)


def _encoded(text: str) -> str:
    r"""Return text of a program or a model as a part of a name: printable, on one line, and no longer than `LONGEST`.

    Characters that are not printable are escaped as in Python. Then backslashes are escaped as well, and also if the text has
    something that looks like an escape. Longer text is cut, and ends in a digest of the whole.
    """
    if text.isprintable() and len(text) <= LONGEST and "\\" not in text:
        return text
    if not text.isprintable() or _ESCAPE.search(text):
        text = visible(text.replace("\\", "\\\\"))
    if len(text) <= LONGEST:
        return text
    from hashlib import sha256  # lazy: names are short

    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[: LONGEST - 17]}~{digest}"


@lru_cache(maxsize=1024)
def name_template(text: str) -> NameTemplate:
    """Parse a name.

    Raises:
        NameTemplateError: it is not valid.
    """
    if not text:
        raise NameTemplateError("is empty")
    if text.startswith(("kind:", "after:")):
        raise NameTemplateError("starts as a plan does, with `kind:` or `after:`")
    parts: list[str | Field] = []
    position = 0
    while position < len(text):
        opening = text.find("{", position)
        literal = text[position:] if opening < 0 else text[position:opening]
        if literal:
            parts.append(_literal(literal))
        if opening < 0:
            break
        closing = text.find("}", opening)
        if closing < 0:
            raise NameTemplateError("has a `{` without its `}`")
        parts.append(_field(text[opening + 1 : closing]))
        position = closing + 1
    return NameTemplate(text, tuple(parts))


def _where(facts: NameFacts) -> str:
    return f"{facts.module}:{facts.qualname}"


def _literal(text: str) -> str:
    if "}" in text:
        raise NameTemplateError("has a `}` without its `{`")
    for character in text:
        if character in "[]" or character.isspace() or not character.isprintable():
            raise NameTemplateError(
                f"holds {character!r}; an address is written name[1], so use `_`, `.` or `-`"
            )
    return text


def _field(text: str) -> Field:
    if "(" in text or ")" in text:
        raise NameTemplateError(f"calls something in `{{{text}}}`; a name may use {_ALLOWED}")
    root, rest = _word(text)
    if not root:
        raise NameTemplateError(f"has `{{{text}}}`; a name may use {_ALLOWED}")
    steps: list[Access] = []
    while rest:
        if rest.startswith("."):
            attribute, rest = _word(rest[1:])
            access = Access("attribute", attribute)
        elif rest.startswith("[") and "]" in rest:
            key, rest = rest[1:].split("]", 1)
            access = Access("key", _unquoted(key))
        else:
            raise NameTemplateError(f"has `{rest}` in `{{{text}}}`; a name may use {_ALLOWED}")
        if not access.name:
            raise NameTemplateError(f"has an empty {access.kind} in `{{{text}}}`")
        steps.append(access)
    _check_root(root, steps)
    return Field(text, root, tuple(steps))


def _check_root(root: str, steps: list[Access]) -> None:
    if root in (*_DEFINITION, *_CALL) and steps:
        raise NameTemplateError(f"looks into `{{{root}}}`, which is text")
    if root == "closure" and not (steps and steps[0].kind == "attribute"):
        raise NameTemplateError("has `{closure}` without a variable: write `{closure.x}`")
    if root.startswith("__") and root.endswith("__") and root not in _DEFINITION:
        close = nearest(_DEFINITION, root) or _DEFINITION[0]
        raise NameTemplateError(f"has `{{{root}}}`; nearest is `{{{close}}}`")


def _word(text: str) -> tuple[str, str]:
    """Split text into the identifier at its beginning and the rest."""
    end = 0
    while end < len(text) and text[: end + 1].isidentifier():
        end += 1
    return text[:end], text[end:]


def _unquoted(key: str) -> str:
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] and key[0] in "'\"" else key


def _root(field: Field, arguments: Mapping[str, Any], facts: NameFacts) -> tuple[Any, tuple[Access, ...]]:
    match field.root:
        case "__name__":
            return facts.name, ()
        case "__qualname__":
            return facts.qualname, ()
        case "__module__":
            return facts.module, ()
        case "closure":
            return facts.closure[field.steps[0].name], field.steps[1:]
        case "model" if facts.model is not None:
            return facts.model, ()
        case "caller" if facts.caller is not None:
            return facts.caller, ()
        case argument:
            return arguments[argument], field.steps


def _follow(value: Any, step: Access) -> Any:
    if step.kind == "attribute":
        return getattr(value, step.name)
    try:
        return value[step.name]
    except (TypeError, LookupError):
        if step.name.isdecimal():
            return value[int(step.name)]
        raise
