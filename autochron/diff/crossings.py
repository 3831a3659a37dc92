"""The differences between two records of one crossing, and between two runs beside their crossings.

Values that a provider makes up for each answer are no difference: identifiers and times in a model's answers, and the same
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
"""What a changed input counts as: an error, a warning, or nothing."""

INPUTS: tuple[Inputs, ...] = ("strict", "warn", "ignore")

_TOKEN = re.compile(r"((?:[A-Za-z]+[-_])*)(?=[\w-]*\d)([0-9a-f-]{8,}|[0-9A-Za-z_-]{12,})")
"""A generated identifier: a prefix that names its kind, such as `call_`, and a random part."""

_IDENTIFIES = re.compile(r"(?i:id|fingerprint)$")
_TIMES = re.compile(r"(?:^|_)(?:created|at|time|timestamp|duration|latency|ms)$|(?:At|Time|Timestamp|Ms)$")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT?")
_ARGUMENTS = frozenset({"input", "arguments", "args"})
"""Fields with the arguments of a tool that a model asks for. They are the model's content, whatever their keys are called."""

_END = "(end)"
"""The path of a difference in how two crossings ended."""
_WIDTH = 200
"""Characters of a value that are shown."""
_FieldDifference: TypeAlias = tuple[str, str, str]
"""A path, and the first and the second value there, as text."""
_End: TypeAlias = Returned | Raised | Abandoned | Closed


class CrossingComparer:
    """Compares the pairs of crossings of two traces, in order of start.

    It remembers which identifiers correspond, and which results differed: both explain differences in later inputs.
    """

    def __init__(self, inputs: Inputs = "strict") -> None:
        self._inputs = inputs
        self._renamed: dict[str, str] = {}
        """The second trace's identifier for each one of the first."""
        self._differing: set[tuple[str, str]] = set()
        """Values that differed in earlier results, as JSON. The same difference in a later input is a consequence."""

    def differences(self, first: Envelope, second: Envelope) -> Iterator[Difference]:
        """Yield the differences between two records of one crossing."""
        meta = list(self._meta(first, second))
        yield from meta
        if self._inputs != "ignore":
            yield from self._input(first, second, meta)
        yield from self._exchanges(first, second, meta)
        yield from self._outcome(first, second)
        if first.changed != second.changed:
            difference = first_difference(first.changed or b"{}", second.changed or b"{}", self._is_renamed)
            if difference is not None:
                yield _field_difference("changed", first, "changed its arguments otherwise", difference)

    # --- what went in ------------------------------------------------------------------------------------------------

    def _meta(self, first: Envelope, second: Envelope) -> Iterator[Difference]:
        if first.meta == second.meta:
            return
        first_meta, second_meta = _object(decode(first.meta)), _object(decode(second.meta))
        if first_meta.get("model") != second_meta.get("model"):
            yield _field_difference(
                "model",
                first,
                "asked another model",
                ("model", *_shown_values(first_meta, second_meta, "model")),
            )
        first_sampling = _object(first_meta.get("sampling"))
        second_sampling = _object(second_meta.get("sampling"))
        for name in dict.fromkeys([*first_sampling, *second_sampling]):
            if first_sampling.get(name, MISSING) != second_sampling.get(name, MISSING):
                field = (f"sampling.{name}", *_shown_values(first_sampling, second_sampling, name))
                yield _field_difference("sampling", first, "was sampled otherwise", field)
        if first_meta.get("printed") != second_meta.get("printed"):
            field = ("printed", *_shown_values(first_meta, second_meta, "printed"))
            yield _field_difference("output", first, "printed something else", field)

    def _input(self, first: Envelope, second: Envelope, meta: list[Difference]) -> Iterator[Difference]:
        """Compare the inputs; differences that are in `meta` already are not repeated."""
        for path in beyond_paths(first.input):
            message = f"{first.address}: {path or 'its input'} is too large to be compared"
            yield Difference(
                kind="not-compared", address=first.address, message=message, severity="notice", path=path
            )
        if first.input == second.input:
            return
        reported = {
            ((difference.path or "").rpartition(".")[2], difference.first, difference.second)
            for difference in meta
            if difference.kind in ("model", "sampling")
        }

        def excuse(path: str, first_value: Any, second_value: Any) -> bool:
            """Ignore fields that are reported already, and identifiers that the provider made up."""
            if (path.rpartition(".")[2], _shown_value(first_value), _shown_value(second_value)) in reported:
                return True
            return self._is_renamed(path, first_value, second_value)

        difference = first_difference(first.input, second.input, excuse)
        if difference is None:
            return
        severity: Severity = "warning" if self._inputs == "warn" else "error"
        cause = first_difference(
            first.input, second.input, lambda *at: excuse(*at) or self._is_consequence(*at)
        )
        if cause is None:
            severity = "consequence"
        yield _field_difference("input", first, "was given another input", cause or difference, severity)

    def _is_renamed(self, _path: str, first: Any, second: Any) -> bool:
        """Return whether these are equal strings, or identifiers that correspond."""
        return isinstance(first, str) and self._renamed.get(first, first) == second

    def _note_differing(self, first: Any, second: Any) -> None:
        """Remember all values in which two results differ, also those inside strings that hold JSON."""

        def note(_path: str, first_value: Any, second_value: Any) -> bool:
            self._differing.add((_as_text(first_value), _as_text(second_value)))
            first_inside, second_inside = _parsed(first_value), _parsed(second_value)
            if first_inside is not None and second_inside is not None:
                difference_of(first_inside, second_inside, note)
            return True

        difference_of(first, second, note)

    def _is_consequence(self, _path: str, first: Any, second: Any) -> bool:
        return (_as_text(first), _as_text(second)) in self._differing

    # --- what came out -----------------------------------------------------------------------------------------------

    def _made_up(self, path: str, first: Any, second: Any) -> bool:
        """Return whether a provider made up both values: a time, or an identifier, which is remembered for later inputs."""
        if self._is_renamed(path, first, second):
            return True
        *above, name = path.split(".")
        if not _ARGUMENTS.isdisjoint(above):
            return False
        if _IDENTIFIES.search(name) and isinstance(first, str) and isinstance(second, str):
            first_token, second_token = _TOKEN.fullmatch(first), _TOKEN.fullmatch(second)
            if first_token is None or second_token is None or first_token[1] != second_token[1]:
                return False
            self._renamed[first] = second
            return True
        is_number = isinstance(first, int | float) and isinstance(second, int | float)
        return bool(_TIMES.search(name)) and (is_number or (_is_moment(first) and _is_moment(second)))

    def _exchanges(self, first: Envelope, second: Envelope, meta: list[Difference]) -> Iterator[Difference]:
        """Compare the HTTP exchanges up to the first that differs. A model that `meta` reports is not repeated."""
        reported = {"model"} if any(difference.kind == "model" for difference in meta) else set()

        def excuse(path: str, first_value: Any, second_value: Any) -> bool:
            return path.rpartition(".")[2] in reported or self._made_up(path, first_value, second_value)

        for at, (first_exchange, second_exchange) in enumerate(
            zip(first.exchanges, second.exchanges, strict=False)
        ):
            difference = _difference_of_exchanges(first_exchange, second_exchange, excuse)
            if difference is not None:
                self._note_differing(read_body(first_exchange.body), read_body(second_exchange.body))
                path, first_value, second_value = difference
                where = path if len(first.exchanges) == 1 else f"{at}.{path}"
                yield _field_difference(
                    "exchange", first, "was answered otherwise", (where, first_value, second_value)
                )
                return
        if len(first.exchanges) != len(second.exchanges):
            before, after = (plural(len(envelope.exchanges), "request") for envelope in (first, second))
            yield _field_difference(
                "exchange", first, "sent more or fewer requests", ("requests", before, after)
            )

    def _outcome(self, first: Envelope, second: Envelope) -> Iterator[Difference]:
        first_outcome, second_outcome = first.outcome, second.outcome
        if first_outcome == second_outcome:
            return
        # A model's result comes from its provider, also where no exchange was recorded.
        excuse = self._made_up if first.kind == "model" else self._is_renamed
        if isinstance(first_outcome, Streamed) and isinstance(second_outcome, Streamed):
            difference = _difference_of_streams(first_outcome, second_outcome, excuse)
        elif isinstance(first_outcome, Streamed) or isinstance(second_outcome, Streamed):
            difference = (_END, _ending_name(first_outcome), _ending_name(second_outcome))
        else:
            difference = _difference_of_ends(first_outcome, second_outcome, excuse)
            if (
                difference is not None
                and isinstance(first_outcome, Returned)
                and isinstance(second_outcome, Returned)
            ):
                self._note_differing(decode(first_outcome.value), decode(second_outcome.value))
        if difference is not None:
            yield _field_difference(
                "outcome",
                first,
                "ended otherwise" if difference[0] == _END else "gave something else",
                difference,
            )


def _difference_of_exchanges(first: Exchange, second: Exchange, excuse: Excuse) -> _FieldDifference | None:
    first_request, second_request = (
        f"{exchange.method} {path_of(exchange.url).partition('?')[0]}" for exchange in (first, second)
    )
    if first_request != second_request:
        return "request", first_request, second_request
    if first.status != second.status:
        first_status, second_status = (
            str(exchange.status) if exchange.status else "failed" for exchange in (first, second)
        )
        return "status", first_status, second_status
    if first.error is not None and second.error is not None:
        return _difference_of_errors(first.error, second.error)
    if first.body == second.body:
        return None
    difference = difference_of(read_body(first.body), read_body(second.body), excuse)
    return None if difference is None else (f"body.{difference[0]}", *difference[1:])


# --- outcomes ------------------------------------------------------------------------------------------------------


def _difference_of_streams(first: Streamed, second: Streamed, excuse: Excuse) -> _FieldDifference | None:
    for at, (first_item, second_item) in enumerate(zip(first.items, second.items, strict=False)):
        difference = first_difference(first_item, second_item, excuse)
        if difference is not None:
            return f"items.{at}.{difference[0]}", *difference[1:]
    if len(first.items) != len(second.items):
        return "items", plural(len(first.items), "item"), plural(len(second.items), "item")
    difference = _difference_of_ends(first.end, second.end, excuse)
    if difference is None or difference[0] == _END:
        return difference
    return f"return.{difference[0]}", *difference[1:]


def _difference_of_ends(first: _End, second: _End, excuse: Excuse) -> _FieldDifference | None:
    if isinstance(first, Returned) and isinstance(second, Returned):
        if first.argument != second.argument:
            first_source, second_source = (
                f"argument {end.argument}" if end.argument else "a value" for end in (first, second)
            )
            return "(value)", first_source, second_source
        return first_difference(first.value, second.value, excuse)
    if isinstance(first, Raised) and isinstance(second, Raised):
        return _difference_of_errors(first.error, second.error)
    return (_END, _ending_name(first), _ending_name(second)) if type(first) is not type(second) else None


def _difference_of_errors(first: bytes, second: bytes) -> _FieldDifference | None:
    """Compare two exceptions without their tracebacks."""
    first_name, second_name = error_name(first), error_name(second)
    if first_name != second_name:
        return _END, f"raised {first_name}", f"raised {second_name}"
    return difference_of(_without_frames(decode(first)), _without_frames(decode(second)))


def _without_frames(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_without_frames(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    is_error = "$error" in tree
    return {key: _without_frames(item) for key, item in tree.items() if not (is_error and key == "traceback")}


def error_name(body: bytes) -> str:
    """Return the name of a recorded exception's type, without its module; `?` where the record has none."""
    tree = decode(body)
    name = tree.get("$error") or tree.get("$opaque") if isinstance(tree, dict) else None
    return str(name or "?").rpartition(":")[2]


def _ending_name(outcome: Outcome | _End) -> str:
    if isinstance(outcome, Raised):
        return f"raised {error_name(outcome.error)}"
    if isinstance(outcome, Streamed):
        return f"gave a stream of {plural(len(outcome.items), 'item')}"
    return type(outcome).__name__.lower()


# --- whole runs ----------------------------------------------------------------------------------------------------


def differences_of_runs(first: Trace, second: Trace) -> Iterator[Difference]:
    """Yield the differences between two runs beside their crossings: command, end, exit status, output, standard input."""
    first_command, second_command = first.header.command, second.header.command
    if first_command != second_command:
        yield _run_difference(
            "command",
            "the command is another one",
            _command_text(first_command),
            _command_text(second_command),
        )
    first_footer, second_footer = first.footer, second.footer
    if first_footer is None or second_footer is None:
        if first_footer is not second_footer:
            ends = (
                "cut off" if footer is None else "came to its end" for footer in (first_footer, second_footer)
            )
            yield _run_difference(
                "end", "one of the traces was cut off, so exit status and output aren't compared", *ends
            )
        return
    first_status, second_status = (
        f"{footer.status} {footer.error or ''}".rstrip() for footer in (first_footer, second_footer)
    )
    if first_status != second_status:
        yield _run_difference("status", "the exit status is another one", first_status, second_status)
    printed = _first_line(_restored(first_footer.stdout), _restored(second_footer.stdout))
    if printed is not None:
        line, first_line, second_line = printed
        yield _run_difference(
            "output", f"line {line} of the output is another one", first_line, second_line, f"line {line}"
        )
    read = _first_line(_restored(first_footer.stdin), _restored(second_footer.stdin))
    if read is not None:
        line, first_line, second_line = read
        yield _run_difference(
            "stdin", f"line {line} of standard input is another one", first_line, second_line, f"line {line}"
        )


def _run_difference(kind: Any, fact: str, first: str, second: str, path: str | None = None) -> Difference:
    message = f"{fact}: {first} in the first trace, {second} in the second"
    return Difference(kind=kind, address=None, message=message, path=path, first=first, second=second)


def _command_text(command: Command) -> str:
    words = [command.target, *command.arguments]
    where = f" (in {command.folder})" if command.folder not in ("", ".") else ""
    return f"{command.mode} {' '.join(words)}{where}"


def _restored(stored: bytes) -> bytes:
    try:
        return restore_body(stored)
    except CodecError:  # a trace file that was edited
        return stored


def _first_line(first: bytes, second: bytes) -> tuple[int, str, str] | None:
    """Return number and texts of the first line that differs; None where the bytes are equal."""
    if first == second:
        return None
    first_lines, second_lines = (text.decode("utf-8", "replace").splitlines() for text in (first, second))
    for at in range(max(len(first_lines), len(second_lines))):
        first_line = repr(first_lines[at][:_WIDTH]) if at < len(first_lines) else "(nothing)"
        second_line = repr(second_lines[at][:_WIDTH]) if at < len(second_lines) else "(nothing)"
        if first_line != second_line:
            return at + 1, first_line, second_line
    return len(first_lines), "(as it is)", "(another line ending)"


# --- words ---------------------------------------------------------------------------------------------------------


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 crossing`, `2 crossings`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _field_difference(
    kind: Any, envelope: Envelope, fact: str, difference: _FieldDifference, severity: Severity = "error"
) -> Difference:
    path, first, second = difference
    # Keys that begin with `$` are tags of the codec, which a reader does not know.
    where = ".".join(step for step in path.split(".") if not step.startswith("$")) or "(value)"
    message = f"{envelope.address} {fact}: {where} is {first} in the first trace, {second} in the second"
    return Difference(
        kind=kind,
        address=envelope.address,
        message=message,
        severity=severity,
        path=where,
        first=first,
        second=second,
    )


def _shown_values(first: dict[str, Any], second: dict[str, Any], key: str) -> tuple[str, str]:
    return _shown_value(first.get(key, MISSING)), _shown_value(second.get(key, MISSING))


def _object(value: Any) -> dict[str, Any]:
    """Return a JSON object; an empty one for any other value, which an edited trace file may hold."""
    return value if isinstance(value, dict) else {}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def _shown_value(value: Any) -> str:
    if isinstance(value, str) and value == MISSING:
        return MISSING
    text = encode(value).decode()
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _parsed(value: Any) -> Any:
    """Return the JSON object or array that a string holds; None where it holds none."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return None
    try:
        return decode(value)
    except (DecodeError, UnicodeError):
        return None


def _is_moment(value: Any) -> bool:
    return isinstance(value, str) and _MOMENT.match(value) is not None
