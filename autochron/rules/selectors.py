"""Read a rule's selector: `target`, `define`, `decorated`, `call` or `http`."""

from __future__ import annotations

from autochron.model import CallSelector, Decorated, Define, Http, Selector, Target
from autochron.rules.calls import call_pattern
from autochron.rules.globs import dotted_glob_error, split_globs, split_within
from autochron.rules.nearest import nearest
from autochron.rules.tables import Table, TableKey

SELECTORS = {
    "target": TableKey("text or texts", "one definition, or several: `module:qualname`"),
    "define": TableKey(
        "text or texts", "definitions by pattern: module glob, colon, name glob, as in `shop.tools:*`"
    ),
    "decorated": TableKey("text", "definitions with a decorator, by its dotted name"),
    "call": TableKey("text", "calls by a pattern of code, such as `TOOLS[$tool](...)`"),
    "http": TableKey(
        "text", "requests of httpx and aiohttp: method and URL glob, as in `POST */chat/completions`"
    ),
}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "*")


def read_selectors(table: Table) -> tuple[Selector, ...]:
    """Read the selector of a table; a list of targets or of patterns of definitions has several.

    Raises:
        RuleError: the table has no selector or more than one, or the selector is not valid.
    """
    selectors = [key for key in SELECTORS if key in table]
    if not selectors:
        table.refuse(
            None, f"{table.title} has no selector; give one of {', '.join(f'`{key}`' for key in SELECTORS)}"
        )
    if len(selectors) > 1:
        table.refuse(
            selectors[1], f"{table.title} has two selectors, `{selectors[0]}` and `{selectors[1]}`; keep one"
        )
    key = selectors[0]
    if key != "define" and "exclude" in table:
        table.refuse("exclude", f"`exclude` belongs to `define`, and this {table.title} has `{key}`")
    if key != "call" and "within" in table:
        table.refuse("within", f"`within` belongs to `call`, and this {table.title} has `{key}`")
    if SELECTORS[key].form == "text or texts":
        texts = table.texts(key, single=True)
        if not all(text.strip() for text in texts) or not texts:
            table.refuse(key, f"`{key}` is empty; {_REMEDIES[key]}")
        if key == "target":
            return tuple(table.parsed(key, text, parse_target) for text in texts)
        return tuple(_define(table, text) for text in texts)
    text = table.required(key, _REMEDIES[key])
    match key:
        case "decorated":
            return (table.parsed(key, text, _decorated),)
        case "call":
            return (_call(table, text),)
        case _:
            return (table.parsed(key, text, _http),)


_REMEDIES = {
    "target": "write module:qualname",
    "define": "write module glob:name glob, such as `shop.tools:*`",
    "decorated": "write the decorator's dotted name, such as `shop.registry.tool`",
    "call": "write a call, such as `TOOLS[$tool](...)`",
    "http": "write method and URL glob, such as `POST */chat/completions`",
}


def parse_target(text: str) -> Target:
    """Parse `module:qualname`.

    Raises:
        ValueError: it is not valid; the message is a predicate.
    """
    module, colon, qualname = text.partition(":")
    if not colon and is_dotted(text) and "." in text:
        raise ValueError(f"has no colon; write module:qualname, nearest is `{_with_colon(text)}`")
    if not colon or ":" in qualname:
        raise ValueError("is not of the form module:qualname")
    if "*" in text:
        raise ValueError("holds `*`; a pattern is given with `define`")
    if not is_dotted(module):
        raise ValueError(f"has `{module}` for a module; write module:qualname")
    if not is_dotted(qualname.replace("<locals>", "locals")):
        raise ValueError(f"has `{qualname}` for a qualified name; write module:qualname")
    return Target(module, qualname)


def is_dotted(text: str) -> bool:
    """Return whether a text consists of identifiers joined by dots."""
    return all(part.isidentifier() for part in text.split("."))


def _with_colon(text: str) -> str:
    """Return a dotted name with a colon where the module most likely ends: before a class, else before the last name."""
    parts = text.split(".")
    first_class = next(
        (index for index, part in enumerate(parts) if part[0].isupper() and index), len(parts) - 1
    )
    return f"{'.'.join(parts[:first_class])}:{'.'.join(parts[first_class:])}"


def _define(table: Table, text: str) -> Define:
    modules, qualnames = table.parsed("define", text, split_globs)
    exclude = table.texts("exclude")
    for glob in exclude:
        error = dotted_glob_error(glob)
        if error:
            table.refuse("exclude", f"`exclude` `{glob}` {error}")
    return Define(modules, qualnames, exclude)


def _decorated(text: str) -> Decorated:
    bare = text.removeprefix("@").partition("(")[0].replace(":", ".")
    if not is_dotted(text):
        advice = f"nearest is `{bare}`" if is_dotted(bare) else "such as `shop.registry.tool`"
        raise ValueError(f"is not a dotted name; {advice}")
    return Decorated(text)


def _call(table: Table, text: str) -> CallSelector:
    table.parsed("call", text, call_pattern)
    within = table.text("within")
    if within is not None:
        table.parsed("within", within, split_within)
    return CallSelector(text, within)


def _http(text: str) -> Http:
    parts = text.split()
    if len(parts) != 2:
        raise ValueError("is not a method and a URL glob, such as `POST */chat/completions`")
    method, url = parts
    if method not in _METHODS:
        close = nearest(_METHODS, method)
        advice = f"nearest is `{close}`" if close else "write it in capitals, or `*` for any"
        raise ValueError(f"has the method `{method}`; {advice}")
    if "?" in url:
        raise ValueError("has a query; the URL is compared without it")
    if "**" in url:
        raise ValueError("holds `**`; `*` crosses slashes already")
    return Http(method, url)
