"""In what two records of one crossing differ, and two runs as a whole.

What a provider makes up anew each time is no difference: the identifiers and times in a model's answers, and these same
identifiers where the program sends them back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from msgspec import DecodeError
from msgspec.json import decode, encode

from autochron.diff.json import MISSING, Excuse, difference_of, first_difference
from autochron.envelope.bodies import read_body, restore_body
from autochron.envelope.type_trees import beyond_paths
from autochron.errors import CodecError
from autochron.http.exchange import path_of
from autochron.model import (
    Abandoned,
    Closed,
    Command,
    Difference,
    Envelope,
    Exchange,
    Outcome,
    Raised,
    Returned,
    Severity,
    Streamed,
    Trace,
)

Inputs: TypeAlias = Literal["strict", "warn", "ignore"]
"""What a changed input is: a difference, something to tell of, or nothing."""

INPUTS: tuple[Inputs, ...] = ("strict", "warn", "ignore")

_TOKEN = re.compile(r"((?:[A-Za-z]+[-_])*)(?=[\w-]*\d)([0-9a-f-]{8,}|[0-9A-Za-z_-]{12,})")
"""An identifier that was drawn: a word for what it is of, and what is random."""

_IDENTIFIES = re.compile(r"(?i:id|fingerprint)$")
_TIMES = re.compile(r"(?:^|_)(?:created|at|time|timestamp|duration|latency|ms)$|(?:At|Time|Timestamp|Ms)$")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT?")
_ARGUMENTS = frozenset({"input", "arguments", "args"})
"""What a model asks a tool for stands below: its content, whatever its fields are called."""

_END = "(end)"
_WIDTH = 200
_Found: TypeAlias = tuple[str, str, str]
_End: TypeAlias = Returned | Raised | Abandoned | Closed


class Contrasts:
    """Compares pair by pair, in order of start: an identifier that was made once is known from there on."""

    def __init__(self, inputs: Inputs = "strict") -> None:
        self._inputs = inputs
        self._renamed: dict[str, str] = {}
        self._followed: set[tuple[str, str]] = set()
        """What earlier crossings gave otherwise, as JSON: where it is in a later input, that only follows."""

    def of(self, first: Envelope, second: Envelope) -> Iterator[Difference]:
        """Describe how two records of a crossing differ."""
        named = list(self._meta(first, second))
        yield from named
        if self._inputs != "ignore":
            yield from self._input(first, second, named)
        yield from self._exchanges(first, second, named)
        yield from self._outcome(first, second)
        if first.changed != second.changed:
            found = first_difference(first.changed or b"{}", second.changed or b"{}", self._is_renamed)
            if found is not None:
                yield _field("changed", first, "changed its arguments otherwise", found)

    # --- what went in ------------------------------------------------------------------------------------------------

    def _meta(self, first: Envelope, second: Envelope) -> Iterator[Difference]:
        if first.meta == second.meta:
            return
        one, other = _object(decode(first.meta)), _object(decode(second.meta))
        if one.get("model") != other.get("model"):
            yield _field("model", first, "asked another model", ("model", *_shown(one, other, "model")))
        before, now = _object(one.get("sampling")), _object(other.get("sampling"))
        for name in dict.fromkeys([*before, *now]):
            if before.get(name, MISSING) != now.get(name, MISSING):
                found = (f"sampling.{name}", *_shown(before, now, name))
                yield _field("sampling", first, "was sampled otherwise", found)
        if one.get("printed") != other.get("printed"):
            found = ("printed", *_shown(one, other, "printed"))
            yield _field("output", first, "printed something else", found)

    def _input(self, first: Envelope, second: Envelope, named: list[Difference]) -> Iterator[Difference]:
        for path in beyond_paths(first.input):
            message = f"{first.address}: {path or 'its input'} is too large to be compared"
            yield Difference(
                kind="not-compared", address=first.address, message=message, severity="notice", path=path
            )
        if first.input == second.input:
            return
        said = {
            ((each.path or "").rpartition(".")[2], each.first, each.second)
            for each in named
            if each.kind in ("model", "sampling")
        }

        def excuse(path: str, one: Any, other: Any) -> bool:
            """Pass over what was told by its name, and identifiers that the provider made."""
            if (path.rpartition(".")[2], _text(one), _text(other)) in said:
                return True
            return self._is_renamed(path, one, other)

        found = first_difference(first.input, second.input, excuse)
        if found is None:
            return
        severity: Severity = "warning" if self._inputs == "warn" else "error"
        own = first_difference(first.input, second.input, lambda *at: excuse(*at) or self._follows(*at))
        if own is None:
            severity = "consequence"
        yield _field("input", first, "was given another input", own or found, severity)

    def _is_renamed(self, _path: str, one: Any, other: Any) -> bool:
        return isinstance(one, str) and self._renamed.get(one, one) == other

    def _follow(self, one: Any, other: Any) -> None:
        """Note all in which two results differ, also where JSON stands in a text."""

        def note(_path: str, mine: Any, theirs: Any) -> bool:
            self._followed.add((_whole(mine), _whole(theirs)))
            inside, within = _parsed(mine), _parsed(theirs)
            if inside is not None and within is not None:
                difference_of(inside, within, note)
            return True

        difference_of(one, other, note)

    def _follows(self, _path: str, one: Any, other: Any) -> bool:
        return (_whole(one), _whole(other)) in self._followed

    # --- what came out -----------------------------------------------------------------------------------------------

    def _made_up(self, path: str, one: Any, other: Any) -> bool:
        """Return whether a provider made these up; identifiers are noted for where they come back."""
        if self._is_renamed(path, one, other):
            return True
        *above, name = path.split(".")
        if not _ARGUMENTS.isdisjoint(above):
            return False
        if _IDENTIFIES.search(name) and isinstance(one, str) and isinstance(other, str):
            mine, theirs = _TOKEN.fullmatch(one), _TOKEN.fullmatch(other)
            if mine is None or theirs is None or mine[1] != theirs[1]:
                return False
            self._renamed[one] = other
            return True
        is_number = isinstance(one, int | float) and isinstance(other, int | float)
        return bool(_TIMES.search(name)) and (is_number or (_is_moment(one) and _is_moment(other)))

    def _exchanges(self, first: Envelope, second: Envelope, named: list[Difference]) -> Iterator[Difference]:
        said = {"model"} if any(each.kind == "model" for each in named) else set()

        def excuse(path: str, one: Any, other: Any) -> bool:
            return path.rpartition(".")[2] in said or self._made_up(path, one, other)

        for at, (one, other) in enumerate(zip(first.exchanges, second.exchanges, strict=False)):
            found = _difference_of_exchanges(one, other, excuse)
            if found is not None:
                self._follow(read_body(one.body), read_body(other.body))
                path, was, now = found
                where = path if len(first.exchanges) == 1 else f"{at}.{path}"
                yield _field("exchange", first, "was answered otherwise", (where, was, now))
                return
        if len(first.exchanges) != len(second.exchanges):
            before, after = (plural(len(each.exchanges), "request") for each in (first, second))
            yield _field("exchange", first, "sent more or fewer requests", ("requests", before, after))

    def _outcome(self, first: Envelope, second: Envelope) -> Iterator[Difference]:
        one, other = first.outcome, second.outcome
        if one == other:
            return
        # What a model gave is made by its provider, also where no exchange was seen.
        excuse = self._made_up if first.kind == "model" else self._is_renamed
        if isinstance(one, Streamed) and isinstance(other, Streamed):
            found = _difference_of_streams(one, other, excuse)
        elif isinstance(one, Streamed) or isinstance(other, Streamed):
            found = (_END, _called(one), _called(other))
        else:
            found = _difference_of_ends(one, other, excuse)
            if found is not None and isinstance(one, Returned) and isinstance(other, Returned):
                self._follow(decode(one.value), decode(other.value))
        if found is not None:
            yield _field(
                "outcome", first, "ended otherwise" if found[0] == _END else "gave something else", found
            )


def _difference_of_exchanges(one: Exchange, other: Exchange, excuse: Excuse) -> _Found | None:
    asked, now = (f"{each.method} {path_of(each.url).partition('?')[0]}" for each in (one, other))
    if asked != now:
        return "request", asked, now
    if one.status != other.status:
        before, after = (str(each.status) if each.status else "failed" for each in (one, other))
        return "status", before, after
    if one.error is not None and other.error is not None:
        return _difference_of_errors(one.error, other.error)
    if one.body == other.body:
        return None
    found = difference_of(read_body(one.body), read_body(other.body), excuse)
    return None if found is None else (f"body.{found[0]}", *found[1:])


# --- outcomes ------------------------------------------------------------------------------------------------------


def _difference_of_streams(one: Streamed, other: Streamed, excuse: Excuse) -> _Found | None:
    for at, (mine, theirs) in enumerate(zip(one.items, other.items, strict=False)):
        found = first_difference(mine, theirs, excuse)
        if found is not None:
            return f"items.{at}.{found[0]}", *found[1:]
    if len(one.items) != len(other.items):
        return "items", plural(len(one.items), "item"), plural(len(other.items), "item")
    found = _difference_of_ends(one.end, other.end, excuse)
    return found if found is None or found[0] == _END else (f"return.{found[0]}", *found[1:])


def _difference_of_ends(one: _End, other: _End, excuse: Excuse) -> _Found | None:
    if isinstance(one, Returned) and isinstance(other, Returned):
        if one.argument != other.argument:
            mine, theirs = (
                f"argument {each.argument}" if each.argument else "a value" for each in (one, other)
            )
            return "(value)", mine, theirs
        return first_difference(one.value, other.value, excuse)
    if isinstance(one, Raised) and isinstance(other, Raised):
        return _difference_of_errors(one.error, other.error)
    return (_END, _called(one), _called(other)) if type(one) is not type(other) else None


def _difference_of_errors(one: bytes, other: bytes) -> _Found | None:
    """Compare exceptions without the lines of source that they came by."""
    mine, theirs = error_name(one), error_name(other)
    if mine != theirs:
        return _END, f"raised {mine}", f"raised {theirs}"
    return difference_of(_without_frames(decode(one)), _without_frames(decode(other)))


def _without_frames(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_without_frames(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    is_error = "$error" in tree
    return {key: _without_frames(item) for key, item in tree.items() if not (is_error and key == "traceback")}


def error_name(body: bytes) -> str:
    """Return the name of a recorded exception's type, without its module."""
    tree = decode(body)
    name = tree.get("$error") or tree.get("$opaque") if isinstance(tree, dict) else None
    return str(name or "?").rpartition(":")[2]


def _called(outcome: Outcome | _End) -> str:
    if isinstance(outcome, Raised):
        return f"raised {error_name(outcome.error)}"
    if isinstance(outcome, Streamed):
        return f"gave a stream of {plural(len(outcome.items), 'item')}"
    return type(outcome).__name__.lower()


# --- whole runs ----------------------------------------------------------------------------------------------------


def differences_of_runs(first: Trace, second: Trace) -> Iterator[Difference]:
    """Describe how two runs differ beside their crossings."""
    one, other = first.header.command, second.header.command
    if one != other:
        yield _of_run("command", "the command is another one", _spelled(one), _spelled(other))
    before, now = first.footer, second.footer
    if before is None or now is None:
        if before is not now:
            ends = ("cut off" if each is None else "came to its end" for each in (before, now))
            yield _of_run(
                "end", "one of the traces was cut off, so exit status and output aren't compared", *ends
            )
        return
    mine, theirs = (f"{each.status} {each.error or ''}".rstrip() for each in (before, now))
    if mine != theirs:
        yield _of_run("status", "the exit status is another one", mine, theirs)
    printed = _first_line(_bytes(before.stdout), _bytes(now.stdout))
    if printed is not None:
        line, was, is_now = printed
        yield _of_run("output", f"line {line} of the output is another one", was, is_now, f"line {line}")
    read = _first_line(_bytes(before.stdin), _bytes(now.stdin))
    if read is not None:
        line, was, is_now = read
        yield _of_run("stdin", f"line {line} of standard input is another one", was, is_now, f"line {line}")


def _of_run(kind: Any, said: str, first: str, second: str, path: str | None = None) -> Difference:
    message = f"{said}: {first} in the first trace, {second} in the second"
    return Difference(kind=kind, address=None, message=message, path=path, first=first, second=second)


def _spelled(command: Command) -> str:
    words = [command.target, *command.arguments]
    where = f" (in {command.folder})" if command.folder not in ("", ".") else ""
    return f"{command.mode} {' '.join(words)}{where}"


def _bytes(stored: bytes) -> bytes:
    try:
        return restore_body(stored)
    except CodecError:  # a trace that was edited: as it stands
        return stored


def _first_line(one: bytes, other: bytes) -> tuple[int, str, str] | None:
    if one == other:
        return None
    before, now = (each.decode("utf-8", "replace").splitlines() for each in (one, other))
    for at in range(max(len(before), len(now))):
        mine = repr(before[at][:_WIDTH]) if at < len(before) else "(nothing)"
        theirs = repr(now[at][:_WIDTH]) if at < len(now) else "(nothing)"
        if mine != theirs:
            return at + 1, mine, theirs
    return len(before), "(as it is)", "(another line ending)"


# --- words ---------------------------------------------------------------------------------------------------------


def plural(count: int, noun: str) -> str:
    """Count things: `1 crossing`, `2 crossings`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _field(
    kind: Any, envelope: Envelope, said: str, found: _Found, severity: Severity = "error"
) -> Difference:
    path, first, second = found
    # Tags of the codec are no steps of a path.
    where = ".".join(step for step in path.split(".") if not step.startswith("$")) or "(value)"
    message = f"{envelope.address} {said}: {where} is {first} in the first trace, {second} in the second"
    return Difference(
        kind=kind,
        address=envelope.address,
        message=message,
        severity=severity,
        path=where,
        first=first,
        second=second,
    )


def _shown(one: dict[str, Any], other: dict[str, Any], key: str) -> tuple[str, str]:
    return _text(one.get(key, MISSING)), _text(other.get(key, MISSING))


def _object(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for what is none, as in a file that was edited."""
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def _text(value: Any) -> str:
    if isinstance(value, str) and value == MISSING:
        return MISSING
    text = encode(value).decode()
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _parsed(value: Any) -> Any:
    """Return the object or the array that a text holds; None where it holds none."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return None
    try:
        return decode(value)
    except (DecodeError, UnicodeError):
        return None


def _is_moment(value: Any) -> bool:
    return isinstance(value, str) and _MOMENT.match(value) is not None
