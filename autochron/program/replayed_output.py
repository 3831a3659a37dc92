"""What a program printed in a replay, compared with the record line by line: what differs, and who wrote it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from autochron._runtime.unpatched import getframe
from autochron.effects.outside import without_times
from autochron.envelope import bodies
from autochron.stdio.descriptors import foreign_lines

if TYPE_CHECKING:
    from autochron.model import Envelope, Footer, OutputRule, Secrets, Severity
    from autochron.project import Project
    from autochron.replaying.director import Director
    from autochron.session.replaying import Replaying
    from autochron.stdio.capture import Capture
    from autochron.stdio.transcript import Said

MOST = 100_000
"""Prints whose writer is noted."""

CLOCKS = ("logging", "rich", "loguru", "structlog", "tqdm")
"""Libraries that write the time by themselves: what differs in a line of theirs by times alone is not the program's."""


class OutputWriter(NamedTuple):
    """Who printed something.

    Attributes:
        end: how many lines had been ended then.
        site: the project's line, or an empty text.
        library: the library of `CLOCKS` by which it was printed, or an empty text.
    """

    end: int
    site: str
    library: str


class Writers:
    """Notes who prints what."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lines = 0
        self._found: list[OutputWriter] = []
        self._past: dict[str, str] = {}
        """From a line that `os.write` wrote to who did."""

    def note(self, text: str, *, is_written: bool = False) -> None:
        """Take in that something was printed; called by the stream's `write`, or for `os.write`."""
        if is_written:
            self._note_written(text)
            return
        self._lines += text.count("\n")
        if len(self._found) >= MOST:
            return
        frame: Any = getframe(2)
        library = ""
        while frame is not None:
            code = frame.f_code
            if self._project.owns(code.co_filename):
                site = f"{self._project.name(code.co_filename)}:{frame.f_lineno or code.co_firstlineno}"
                self._found.append(OutputWriter(self._lines, site, library))
                return
            name = str(frame.f_globals.get("__name__")).partition(".")[0]
            library = library or (name if name in CLOCKS else "")
            frame = frame.f_back
        self._found.append(OutputWriter(self._lines, "", library))

    def _note_written(self, text: str) -> None:
        frame: Any = getframe(3)
        while frame is not None and not self._project.owns(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None and len(self._past) < MOST:
            site = f"{self._project.name(frame.f_code.co_filename)}:{frame.f_lineno or frame.f_code.co_firstlineno}"
            lines = text.encode("latin-1").decode("utf-8", "surrogateescape").splitlines()
            self._past |= dict.fromkeys(lines, site)

    def past(self, line: str) -> OutputWriter | None:
        """Return who wrote a line by `os.write`; None where that is not known."""
        site = self._past.get(line.rstrip("\r\n"))
        return None if site is None else OutputWriter(0, site, "")

    def of(self, line: int) -> OutputWriter | None:
        """Return who ended a line, counted from 0; None where that is not known."""
        from bisect import bisect_right  # lazy: only where an output differs

        at = bisect_right(self._found, line, key=lambda each: each.end)
        return self._found[min(at, len(self._found) - 1)] if self._found and line <= self._lines else None


class OutputDifference(NamedTuple):
    """How two outputs differ.

    Attributes:
        line: the number of the first line that is another; 0 where none is.
        recorded, replayed: that line in both.
        writer: who wrote it in the replay.
        is_time: whether only times differ in it.
        times: lines that libraries of `CLOCKS` wrote and in which only times differ.
        ignored: lines that `[[output]]` lets be.
        missing: optional lines that are not there.
    """

    line: int = 0
    recorded: str = ""
    replayed: str = ""
    writer: OutputWriter | None = None
    is_time: bool = False
    times: int = 0
    ignored: int = 0
    missing: int = 0


def compare_output(
    recorded: bytes,
    replayed: bytes,
    writer_of: Callable[[int, str], OutputWriter | None],
    rules: Sequence[OutputRule],
    optional: Collection[int] = (),
    foreign: Collection[int] | None = None,
) -> OutputDifference:
    """Compare two outputs line by line.

    Args:
        recorded, replayed: both.
        writer_of: returns who wrote a line of the replayed one, by its number from 0 and its text.
        rules: what may differ.
        optional: lines of the recorded one that need not be in the other, by their numbers from 0.
        foreign: lines of the replayed one that Python's streams did not print; None where that is not known.
    """
    before = _lines(recorded)
    now = _lines(replayed)
    times = ignored = missing = at = index = 0
    patterns = _compiled(rules)
    while at < len(before) or index < len(now):
        one = before[at] if at < len(before) else None
        other = now[index] if index < len(now) else None
        # What was written past Python's streams is not what the program prints itself now.
        is_optional = at in optional
        if is_optional and (one != other or (foreign is not None and index not in foreign)):
            at += 1
            missing += 1
            continue
        if one != other:
            writer = None if other is None else writer_of(index, other)
            is_time = one is not None and other is not None and without_times(one) == without_times(other)
            if one is not None and other is not None and _without(patterns, one) == _without(patterns, other):
                ignored += 1
            elif writer is not None and writer.library and _bare(one) == _bare(other):
                times += 1
            else:
                was, is_now = ("(nothing)" if each is None else _shown(each) for each in (one, other))
                if was == is_now:
                    was, is_now = "(as it is)", "(another line ending)"
                return OutputDifference(at + 1, was, is_now, writer, is_time, times, ignored, missing)
        at += 1
        index += 1
    return OutputDifference(times=times, ignored=ignored, missing=missing)


def _lines(output: bytes) -> list[str]:
    return output.decode("utf-8", "surrogateescape").splitlines(keepends=True)


def _shown(line: str) -> str:
    """Return a line without its end, and with what is no text written out."""
    return line.rstrip("\r\n").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def compare_said(
    replaying: Replaying,
    footer: Footer,
    capture: Capture,
    said: Said,
    severity: Severity,
    writers: Writers | None,
) -> None:
    """Note where a replayed program's output is not as it was; `writers` noted who printed what."""
    director = replaying.director
    if replaying.activation.rules.stderr:
        _compare_errors(replaying, footer, said, severity)
    replayed, optional = said.stdout, set[int]()
    if footer.said:
        unheard = not said.is_whole  # then all that Python's streams did not print is
        served = set[int]() if unheard else {each.seq for each in _served(director)}
        optional = {
            line
            for each in footer.unprinted
            if unheard or not served.isdisjoint(each.during)
            for line in range(each.line, each.line + each.count)
        }
        if unheard:
            replayed = capture.printed
    else:
        replayed = capture.stdout.data_and_rest if replaying.record.header.typed else capture.printed
    masked = replaying.redactor.mask_outcome(bodies.store_body(replayed, "text/plain"))[0]
    if footer.secrets is not None:
        _compare_secrets(director, footer.secrets, replayed, bodies.restore_body(masked), severity)
    if replaying.record.header.typed and not (footer.said and said.is_whole):
        place = "when it was recorded" if not footer.said else "now"
        message = (
            f"standard output was a terminal {place}, or the same as standard error: only what Python's streams and os.write"
            " write is compared"
        )
        director.note("output", "standard output", message, severity="notice")
    if masked == footer.stdout and not optional:
        return
    recorded, now = bodies.restore_body(footer.stdout), bodies.restore_body(masked)
    find = _finder(writers, now, capture.printed)
    lines = now.splitlines(keepends=True)
    foreign = (
        foreign_lines(lines, capture.printed.splitlines(keepends=True))
        if optional and said.is_whole
        else None
    )
    found = compare_output(recorded, now, find, replaying.activation.rules.outputs, optional, foreign)
    _note_difference(director, found, severity)
    for message in _remarks(found, replaying, is_whole=footer.said and said.is_whole):
        director.note("output", "standard output", message, severity="notice")


def _compare_errors(replaying: Replaying, footer: Footer, said: Said, severity: Severity) -> None:
    """Note where standard error is not as it was; lines of autochron's own are none of the program's."""
    director = replaying.director
    if footer.stderr is None or said.stderr is None:
        message = "standard error was not recorded, so it is not compared: record the program again"
        director.note("not-compared", "standard error", message, severity="notice")
        return
    masked = replaying.redactor.mask_outcome(bodies.store_body(said.stderr or b"\n", "text/plain"))[0]
    before, now = (_of_program(bodies.restore_body(each)) for each in (footer.stderr, masked))
    found = compare_output(before, now, lambda _line, _text: None, replaying.activation.rules.outputs)
    if found.line:
        message = f"line {found.line} of standard error was {found.recorded!r}, now it is {found.replayed!r}"
        director.note(
            "output",
            "standard error",
            message,
            severity=severity,
            recorded=found.recorded,
            replayed=found.replayed,
        )


def _of_program(errors: bytes) -> bytes:
    lines = errors.splitlines(keepends=True)
    return b"".join(each for each in lines if each.strip() and not each.startswith(b"autochron: "))


def _compare_secrets(
    director: Director, secrets: Secrets, raw: bytes, masked: bytes, severity: Severity
) -> None:
    """Note lines of the output in which something else is masked now."""
    key = director.state.inputs.mask_key(secrets.key)
    if key is None:
        for _ in secrets.digests[:_MOST_NOTED]:
            message = f"a line of the output is masked and not compared: {director.state.inputs.why_no_key}"
            director.note("not-compared", "standard output", message, severity="notice")
        return
    now = key.line_digests(raw, masked)
    if len(now) != len(secrets.digests):
        return  # then the lines themselves differ
    for number, (one, other) in enumerate(zip(secrets.digests, now, strict=True), 1):
        if not (one and other):
            message = (
                f"masked line {number} of the output is not compared: a mask that was served stands in it; make the crossing"
                " live that it is from"
            )
            director.note("not-compared", "standard output", message, severity="notice")
        elif one != other:
            message = f"masked line {number} of the output has another secret in it now"
            director.note("output", "standard output", message, severity=severity)


_MOST_NOTED = 100


def _remarks(found: OutputDifference, replaying: Replaying, *, is_whole: bool) -> Iterator[str]:
    """Say what differs and counts for nothing."""
    if found.times:
        yield f"output lines in which only times differ, written by a library of logs: {found.times}"
    if found.ignored:
        reasons = ", ".join(rule.reason for rule in replaying.activation.rules.outputs)
        yield f"output lines that [[output]] lets differ: {found.ignored} ({reasons})"
    if found.missing and is_whole:
        yield (
            f"output lines that are not written again: {found.missing}; they were written past Python's streams, by a"
            " child process or another thread, while tools ran that are served now"
        )


def _note_difference(director: Director, found: OutputDifference, severity: Severity) -> None:
    if not found.line:
        return
    by = "" if found.writer is None or not found.writer.site else f", written at {found.writer.site}"
    remedy = (
        "; only times differ: record that call, or let it be with an [[output]] pattern"
        if found.is_time
        else ""
    )
    message = (
        f"line {found.line} of the output was {found.recorded!r}, now it is {found.replayed!r}{by}{remedy}"
    )
    director.note(
        "output",
        "standard output",
        message,
        severity=severity,
        recorded=found.recorded,
        replayed=found.replayed,
    )


def _served(director: Director) -> Iterator[Envelope]:
    """Return the recorded crossings that were served."""
    return (
        each.recorded
        for each, _ in director.each_replayed()
        if each.mode != "live" and each.recorded is not None
    )


def _finder(
    writers: Writers | None, said: bytes, printed: bytes
) -> Callable[[int, str], OutputWriter | None]:
    """Return what finds who wrote a line of what was said."""
    if writers is None:
        return lambda _line, _text: None
    foreign: list[int] | None = None

    def find(line: int, text: str) -> OutputWriter | None:
        nonlocal foreign
        if foreign is None:
            lines = said.splitlines(keepends=True)
            foreign = foreign_lines(lines, printed.splitlines(keepends=True)) or []
        before = bisect_left(foreign, line)
        if foreign[before : before + 1] == [line]:
            return writers.past(text)
        return writers.of(line - before)

    return find


def _bare(line: str | None) -> str | None:
    """Return a line of a log without times, and without the room that these take: rich writes equal ones once."""
    return None if line is None else " ".join(without_times(line).replace("[]", "").split())


def _compiled(rules: Sequence[OutputRule]) -> list[Any]:
    if not rules:
        return []
    import re  # lazy: few rules have an [[output]]

    return [re.compile(rule.pattern) for rule in rules]


def _without(patterns: Sequence[Any], line: str) -> str:
    for pattern in patterns:
        line = pattern.sub("", line)
    return line
