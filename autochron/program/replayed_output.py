"""Compare the output of a replayed program with the record, line by line: what differs, and who wrote it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from autochron._runtime.unpatched import getframe
from autochron.effects.outside import without_times
from autochron.envelope import bodies
from autochron.stdio.descriptors import foreign_lines, output_kind

if TYPE_CHECKING:
    from autochron.model import Envelope, Footer, OutputRule, Secrets, Severity
    from autochron.project import Project
    from autochron.replaying.director import Director
    from autochron.session.replaying import Replaying
    from autochron.stdio.capture import Capture
    from autochron.stdio.transcript import Transcript

MOST = 100_000
"""Prints whose writer is noted, at most."""

CLOCKS = ("logging", "rich", "loguru", "structlog", "tqdm")
"""Libraries that add the time to what they write. If only times differ in a line of theirs, the program has not changed."""


class OutputWriter(NamedTuple):
    """The origin of a piece of output.

    Attributes:
        end: number of lines that had been ended then.
        site: the project's line, or an empty text.
        library: the library of `CLOCKS` that wrote it, or an empty text.
    """

    end: int
    site: str
    library: str


class Writers:
    """Notes which line of the project writes which line of the output."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._line_count = 0
        self._writers: list[OutputWriter] = []
        self._bypassing: dict[str, str] = {}
        """The project's line that wrote it, by line of output; for `os.write`, which bypasses Python's streams."""

    def note(self, text: str, *, is_written: bool = False) -> None:
        """Note who writes a text. The stream's `write` calls it, or the hook of `os.write`.

        Args:
            text: what is written; of `os.write` its bytes as Latin-1.
            is_written: whether `os.write` writes it.
        """
        if is_written:
            self._note_written(text)
            return
        self._line_count += text.count("\n")
        if len(self._writers) >= MOST:
            return
        frame: Any = getframe(2)
        library = ""
        while frame is not None:
            code = frame.f_code
            if self._project.owns(code.co_filename):
                site = f"{self._project.name(code.co_filename)}:{frame.f_lineno or code.co_firstlineno}"
                self._writers.append(OutputWriter(self._line_count, site, library))
                return
            name = str(frame.f_globals.get("__name__")).partition(".")[0]
            library = library or (name if name in CLOCKS else "")
            frame = frame.f_back
        self._writers.append(OutputWriter(self._line_count, "", library))

    def _note_written(self, text: str) -> None:
        frame: Any = getframe(3)
        while frame is not None and not self._project.owns(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None and len(self._bypassing) < MOST:
            site = f"{self._project.name(frame.f_code.co_filename)}:{frame.f_lineno or frame.f_code.co_firstlineno}"
            lines = text.encode("latin-1").decode("utf-8", "surrogateescape").splitlines()
            self._bypassing |= dict.fromkeys(lines, site)

    def by_os_write(self, line: str) -> OutputWriter | None:
        """Return who wrote a line by `os.write`; None if that is not known."""
        site = self._bypassing.get(line.rstrip("\r\n"))
        return None if site is None else OutputWriter(0, site, "")

    def of(self, line: int) -> OutputWriter | None:
        """Return who ended a line, counted from 0; None if that is not known."""
        index = bisect_right(self._writers, line, key=lambda writer: writer.end)
        return (
            self._writers[min(index, len(self._writers) - 1)]
            if self._writers and line <= self._line_count
            else None
        )


class OutputDifference(NamedTuple):
    """The difference of two outputs.

    Attributes:
        line: number of the first line that differs, from 1; 0 if there is none.
        recorded: that line in the record.
        replayed: that line in the replay.
        writer: who wrote it in the replay.
        is_time: whether only times differ in it.
        times: number of lines by libraries of `CLOCKS` in which only times differ.
        ignored: number of lines that differ as an `[[output]]` rule allows.
        missing: number of optional lines that are missing.
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
        recorded: the recorded output.
        replayed: the output of the replay.
        writer_of: returns who wrote a line of the replay, by its number from 0 and its text.
        rules: what may differ.
        optional: numbers from 0 of recorded lines that the replay needn't have.
        foreign: numbers from 0 of lines of the replay that Python's streams did not print; None if that is not known.
    """
    recorded_lines = _lines(recorded)
    replayed_lines = _lines(replayed)
    times = ignored = missing = at = index = 0
    patterns = _compiled(rules)
    while at < len(recorded_lines) or index < len(replayed_lines):
        expected = recorded_lines[at] if at < len(recorded_lines) else None
        actual = replayed_lines[index] if index < len(replayed_lines) else None
        # An optional line bypassed Python's streams. A line that the program prints by them now is another one.
        is_optional = at in optional
        if is_optional and (expected != actual or (foreign is not None and index not in foreign)):
            at += 1
            missing += 1
            continue
        if expected != actual:
            writer = None if actual is None else writer_of(index, actual)
            both = None if expected is None or actual is None else (expected, actual)
            is_time = both is not None and without_times(both[0]) == without_times(both[1])
            if both is not None and _without(patterns, both[0]) == _without(patterns, both[1]):
                ignored += 1
            elif writer is not None and writer.library and _bare(expected) == _bare(actual):
                times += 1
            else:
                texts = _shown_pair(expected, actual)
                return OutputDifference(at + 1, *texts, writer, is_time, times, ignored, missing)
        at += 1
        index += 1
    return OutputDifference(times=times, ignored=ignored, missing=missing)


def _shown_pair(expected: str | None, actual: str | None) -> tuple[str, str]:
    """Return two different lines as a message shows them."""
    recorded, replayed = ("(nothing)" if line is None else _shown(line) for line in (expected, actual))
    return ("(as it is)", "(another line ending)") if recorded == replayed else (recorded, replayed)


def _lines(output: bytes) -> list[str]:
    return output.decode("utf-8", "surrogateescape").splitlines(keepends=True)


def _shown(line: str) -> str:
    """Return a line without its line ending, and with undecodable bytes as escapes."""
    return line.rstrip("\r\n").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def compare_transcript(
    replaying: Replaying,
    footer: Footer,
    capture: Capture,
    transcript: Transcript,
    severity: Severity,
    writers: Writers | None,
) -> None:
    """Note differences of a replayed program's output.

    Args:
        replaying: the session.
        footer: the footer of the record.
        capture: the captured standard streams.
        transcript: what went through them.
        severity: severity of a difference.
        writers: who printed what; None if that is not known.
    """
    director = replaying.director
    if replaying.activation.rules.stderr:
        _compare_errors(replaying, footer, transcript, severity)
    replayed, optional = _compared(replaying, footer, capture, transcript)
    masked = replaying.redactor.mask_outcome(bodies.store_body(replayed, "text/plain"))[0]
    if footer.secrets is not None:
        _compare_secrets(director, footer.secrets, replayed, bodies.restore_body(masked), severity)
    if replaying.record.header.typed and not (footer.said and transcript.is_whole):
        place = (
            f"is {output_kind()} now"
            if footer.said
            else "was no file or pipe of its own when it was recorded"
        )
        message = f"standard output {place}: only what Python's streams and os.write write is compared"
        director.note("output", "standard output", message, severity="notice")
    if masked == footer.stdout and not optional:
        return
    recorded, restored = bodies.restore_body(footer.stdout), bodies.restore_body(masked)
    find = _finder(writers, restored, capture.printed)
    foreign = None
    if optional and transcript.is_whole:
        foreign = foreign_lines(restored.splitlines(keepends=True), capture.printed.splitlines(keepends=True))
    difference = compare_output(
        recorded, restored, find, replaying.activation.rules.outputs, optional, foreign
    )
    _note_difference(director, difference, severity)
    for message in _remarks(difference, replaying, is_whole=footer.said and transcript.is_whole):
        director.note("output", "standard output", message, severity="notice")


def _compared(
    replaying: Replaying, footer: Footer, capture: Capture, transcript: Transcript
) -> tuple[bytes, set[int]]:
    """Return the output that is compared, and the numbers from 0 of recorded lines that it needn't have."""
    is_typed = replaying.record.header.typed
    if not footer.said:
        return (capture.stdout.data_and_rest if is_typed else capture.printed), set()
    # Without a capture of the descriptor, lines that bypass Python's streams are not in the output.
    is_partial = not transcript.is_whole
    served = set[int]() if is_partial else {envelope.seq for envelope in _served(replaying.director)}
    optional = {
        line
        for unprinted in footer.unprinted
        if is_partial or not served.isdisjoint(unprinted.during)
        for line in range(unprinted.line, unprinted.line + unprinted.count)
    }
    return (capture.printed if is_partial else transcript.stdout), optional


def _compare_errors(replaying: Replaying, footer: Footer, transcript: Transcript, severity: Severity) -> None:
    """Note a difference of standard error, without lines of autochron's own."""
    director = replaying.director
    if footer.stderr is None or transcript.stderr is None:
        message = "standard error was not recorded, so it is not compared: record the program again"
        director.note("not-compared", "standard error", message, severity="notice")
        return
    masked = replaying.redactor.mask_outcome(bodies.store_body(transcript.stderr or b"\n", "text/plain"))[0]
    recorded, replayed = (_of_program(bodies.restore_body(body)) for body in (footer.stderr, masked))
    difference = compare_output(
        recorded, replayed, lambda _line, _text: None, replaying.activation.rules.outputs
    )
    if difference.line:
        was, now = _excerpts(difference.recorded, difference.replayed)
        message = f"line {difference.line} of standard error was {was}, now it is {now}"
        director.note(
            "output",
            "standard error",
            message,
            severity=severity,
            path=f"line {difference.line}",
            recorded=difference.recorded,
            replayed=difference.replayed,
        )


def _of_program(errors: bytes) -> bytes:
    lines = errors.splitlines(keepends=True)
    return b"".join(line for line in lines if line.strip() and not line.startswith(b"autochron: "))


def _compare_secrets(
    director: Director, secrets: Secrets, raw: bytes, masked: bytes, severity: Severity
) -> None:
    """Note lines of the output in which a mask stands for another secret now."""
    key = director.state.inputs.mask_key(secrets.key)
    if key is None:
        for _ in secrets.digests[:_MOST_NOTED]:
            message = f"a line of the output is masked and not compared: {director.state.inputs.why_no_key}"
            director.note("not-compared", "standard output", message, severity="notice")
        return
    digests = key.line_digests(raw, masked)
    if len(digests) != len(secrets.digests):
        return  # the lines themselves differ, and are compared elsewhere
    for number, (recorded, replayed) in enumerate(zip(secrets.digests, digests, strict=True), 1):
        if not (recorded and replayed):
            message = (
                f"masked line {number} of the output is not compared: a mask that was served stands in it; make the crossing"
                " live that it is from"
            )
            director.note("not-compared", "standard output", message, severity="notice")
        elif recorded != replayed:
            message = f"masked line {number} of the output has another secret in it now"
            director.note("output", "standard output", message, severity=severity)


_MOST_NOTED = 100
"""Notices about masked lines, at most."""


def _remarks(difference: OutputDifference, replaying: Replaying, *, is_whole: bool) -> Iterator[str]:
    """Yield a message for each kind of difference that is no divergence."""
    if difference.times:
        yield f"output lines in which only times differ, written by a library of logs: {difference.times}"
    if difference.ignored:
        reasons = ", ".join(rule.reason for rule in replaying.activation.rules.outputs)
        yield f"output lines that [[output]] lets differ: {difference.ignored} ({reasons})"
    if difference.missing and is_whole:
        yield (
            f"output lines that are not written again: {difference.missing}; they were written past Python's streams, by a"
            " child process or another thread, while tools ran that are served now"
        )


def _note_difference(director: Director, difference: OutputDifference, severity: Severity) -> None:
    if not difference.line:
        return
    writer = (
        ""
        if difference.writer is None or not difference.writer.site
        else f", written at {difference.writer.site}"
    )
    remedy = (
        "; only times differ: record that call, or let it be with an [[output]] pattern"
        if difference.is_time
        else ""
    )
    recorded, replayed = _excerpts(difference.recorded, difference.replayed)
    message = f"line {difference.line} of the output was {recorded}, now it is {replayed}{writer}{remedy}"
    director.note(
        "output",
        "standard output",
        message,
        severity=severity,
        path=f"line {difference.line}",
        recorded=difference.recorded,
        replayed=difference.replayed,
    )


def _excerpts(recorded: str, replayed: str) -> tuple[str, str]:
    """Return two lines as literals. Of long lines only a part is quoted, which begins before the first difference."""
    if max(len(recorded), len(replayed)) <= _QUOTED:
        return repr(recorded), repr(replayed)
    pairs = enumerate(zip(recorded, replayed, strict=False))
    differs = next((at for at, (a, b) in pairs if a != b), min(len(recorded), len(replayed)))
    start = max(differs - _BEFORE, 0)
    first, second = (
        f"{'…' if start else ''}{line[start : start + _QUOTED]}{'…' if len(line) > start + _QUOTED else ''}"
        for line in (recorded, replayed)
    )
    return repr(first), repr(second)


_QUOTED = 160
"""The most characters of a line that a message quotes."""

_BEFORE = 40
"""How many of them come before the first difference, if they don't begin the line."""


def _served(director: Director) -> Iterator[Envelope]:
    """Yield the recorded crossings that were served."""
    return (
        replayed.recorded
        for replayed, _ in director.each_replayed()
        if replayed.mode != "live" and replayed.recorded is not None
    )


def _finder(
    writers: Writers | None, output: bytes, printed: bytes
) -> Callable[[int, str], OutputWriter | None]:
    """Return a function that finds who wrote a line of the output.

    Args:
        writers: who printed what; None if that is not known.
        output: the output that is compared.
        printed: what Python's streams printed.
    """
    if writers is None:
        return lambda _line, _text: None
    foreign: list[int] | None = None

    def find(line: int, text: str) -> OutputWriter | None:
        nonlocal foreign
        if foreign is None:
            lines = output.splitlines(keepends=True)
            foreign = foreign_lines(lines, printed.splitlines(keepends=True)) or []
        before = bisect_left(foreign, line)
        if foreign[before : before + 1] == [line]:
            return writers.by_os_write(text)
        return writers.of(line - before)

    return find


def _bare(line: str | None) -> str | None:
    """Return a line of a log without times and the blanks around them: rich writes a time only once if it repeats."""
    return None if line is None else " ".join(without_times(line).replace("[]", "").split())


def _compiled(rules: Sequence[OutputRule]) -> list[Any]:
    if not rules:
        return []
    import re  # lazy: few rule files have an [[output]] table

    return [re.compile(rule.pattern) for rule in rules]


def _without(patterns: Sequence[Any], line: str) -> str:
    for pattern in patterns:
        line = pattern.sub("", line)
    return line
