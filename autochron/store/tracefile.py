"""Trace files: a trace as JSON Lines that people can read, edit and compare.

The first line is `{"autochron": FORMAT, "header": …}`. Then comes one line for each envelope, in order of start; one for the
footer, if the trace has one; and one for the digest of all bytes before it. `lines` defines the content of a line, and
`patches` how an input is written that continues an earlier one. Writing and reading are streams, which hold only the last
bodies of each boundary in memory.
"""

# Messages show paths as the user wrote them.

from __future__ import annotations

import contextlib
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

import msgspec
from msgspec import Raw

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.errors import StoreError, TraceFormatError
from autochron.model import Child, Envelope, Footer, Header, Trace, TraceSummary
from autochron.store import lookup, patches
from autochron.store.lines import (
    FORMAT,
    READ,
    DigestLine,
    HeaderLine,
    LineReader,
    LineWriter,
    digest_line,
    footer_line,
    header_line,
)
from autochron.store.whole import WholeRecord

if TYPE_CHECKING:
    from autochron.ports import Record, Sink

_head = msgspec.json.Decoder(HeaderLine)
_version = msgspec.json.Decoder(dict[str, Raw])
_digest = msgspec.json.Decoder(DigestLine)

SMALL = 1 << 20
"""Bytes of a file up to which it is read at once and kept, so that every later reading gets the bytes that were checked."""

_FOOTER = b'{"footer"'

_AT_ONCE = 1 << 14
"""Bytes that are read before asking for the size of the file."""

_MALFORMED = (msgspec.MsgspecError, patches.PatchError, RecursionError, UnicodeError)
"""The errors of reading damaged text."""

_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0)

EDITED = "edited? `autochron traces import FILE --reseal` accepts it"


def write_trace(trace: Trace, path: str) -> None:
    """Write a trace file completely or not at all; see `write_stream`."""
    write_stream(trace.header, trace.envelopes, trace.footer, path)


def write_stream(header: Header, envelopes: Iterable[Envelope], footer: Footer | None, path: str) -> None:
    """Write a trace file from a stream of envelopes, completely or not at all.

    Args:
        header: the header of the trace.
        envelopes: its envelopes, in order of start.
        footer: its footer; None if it has none.
        path: the file, which is replaced if it exists.

    Raises:
        StoreError: the file can't be written, the envelopes have another order, or a body is no JSON.
    """
    temporary = f"{path}.{unpatched.getpid()}.{unpatched.get_ident():x}.tmp"
    try:
        with open(temporary, "xb") as file:
            digest, lines = hashlib.sha256(), 0
            for line in _lines(header, envelopes, footer):
                text = line + b"\n"
                digest.update(text)
                file.write(text)
                lines += 1
            file.write(digest_line(digest.hexdigest(), lines) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise StoreError(
                f"{path} can't be written ({error.strerror}); give another path, or make room"
            ) from error
        raise


def _lines(header: Header, envelopes: Iterable[Envelope], footer: Footer | None) -> Iterator[bytes]:
    yield header_line(header)
    writer, last = LineWriter(), 0
    for envelope in envelopes:
        if envelope.seq <= last:
            raise StoreError(
                f"{envelope.address} (seq {envelope.seq}) follows seq {last}; give them in order of start"
            )
        last = envelope.seq
        try:
            yield writer.line(envelope)
        except msgspec.DecodeError as error:
            raise StoreError(
                f"{envelope.address} has a body that is no JSON ({error}); record it again"
            ) from error
    if footer is not None:
        yield footer_line(footer)


def read_trace(path: str, *, reseal: bool = False) -> Trace:
    """Read a whole trace file.

    Args:
        path: the file.
        reseal: accept a wrong or missing digest, and indented bodies, as in a file that was edited.

    Raises:
        TraceFormatError: the file is damaged, or was edited.
        StoreError: it can't be read.
    """
    return TraceFileStore(path, reseal=reseal).load("last")


class TraceFileStore:
    """A trace file as a read-only store of one trace.

    The constructor checks the digest, before any line is used. Lines are read as they are needed.
    """

    def __init__(self, path: str, *, reseal: bool = False) -> None:
        self.path = path
        self.url: str | None = None
        self._reseal = reseal
        self._lines = 0
        self._text = self._read_if_small()
        self.header = self._header(self._first_line())
        self._verify()

    def begin(self, header: Header) -> Sink:
        """Raise StoreError: a trace file is read-only."""
        raise StoreError(
            f"{self.path} is a trace file and can't be recorded into; record into a store and export it"
        )

    def join(self, trace: str, lane: str, label: str) -> tuple[Sink, str, int]:
        """Raise StoreError: a trace file is read-only."""
        raise StoreError(f"{self.path} is a trace file and can't be recorded into; record into a store")

    def children(self, reference: str) -> list[Child]:
        """Return an empty list: a file doesn't say which process made a crossing, except by its lane."""
        return []

    def count(self, trace: str) -> int:
        """Count the crossings of the trace with this id; 0 if the file has another."""
        return sum(self.counts(trace).values()) if trace == self.header.id else 0

    def counts(self, reference: str) -> dict[str, int]:
        """Count the crossings of a trace by name."""
        return Counter(envelope.name for envelope in self.envelopes(reference))

    def drop(self, ids: Sequence[str]) -> None:
        """Raise StoreError: a trace file is read-only."""
        raise StoreError(f"{self.path} is a trace file, from which nothing can be dropped; remove the file")

    def summaries(self) -> list[TraceSummary]:
        """Return the summary of the one trace."""
        crossings, footer = 0, None
        for entry in self._read():
            if isinstance(entry, Footer):
                footer = entry
            else:
                crossings += 1
        status = footer.status if footer else None
        return [TraceSummary(self.header, crossings, status, footer is not None, os.path.getsize(self.path))]

    def find(self, reference: str) -> str:
        """Return the id of the trace if the reference means it; see `lookup.find`."""
        header = self.header
        return lookup.find(reference, [(header.id, header.name, header.created)], self.path)

    def outline(self, reference: str) -> tuple[Header, Footer | None]:
        """Return the header and the footer of the trace; the footer is None if there is none."""
        self.find(reference)
        return self.header, next((entry for entry in self._read() if isinstance(entry, Footer)), None)

    def load(self, reference: str) -> Trace:
        """Read the whole trace."""
        self.find(reference)
        trace = self._read_at_once()
        if trace is not None:
            return trace
        envelopes: list[Envelope] = []
        footer = None
        for entry in self._read():
            if isinstance(entry, Footer):
                footer = entry
            else:
                envelopes.append(entry)
        return Trace(self.header, tuple(envelopes), footer)

    def _read_at_once(self) -> Trace | None:
        """Read a small file at once; return None for any other, and if a line is wrong, which `_read` then reports."""
        text = self._text
        if text is None or self._reseal:
            return None
        start, end = text.index(b"\n") + 1, text.rfind(b"\n", 0, len(text) - 1) + 1
        last = text.rfind(b"\n", start, end - 1) + 1 or start
        has_footer = text.startswith(_FOOTER, last)
        reader = LineReader()
        try:
            text.decode()  # check the encoding now: bodies are kept as they are, and decoded later
            envelopes = reader.envelopes(text[start : last if has_footer else end])
            footer = reader.footer(text[last:end]) if has_footer else None
        except _MALFORMED:
            return None
        seq = 0
        for envelope in envelopes:
            if envelope.seq <= seq:
                return None
            seq = envelope.seq
        return Trace(self.header, tuple(envelopes), footer)

    def record(self, reference: str) -> Record:
        """Open the trace as a record to replay."""
        return WholeRecord(self.load(reference))

    def envelopes(self, reference: str) -> Iterator[Envelope]:
        """Return an iterator over the envelopes, in order of start."""
        self.find(reference)
        return (entry for entry in self._read() if isinstance(entry, Envelope))

    def close(self) -> None:
        """Do nothing: the file is not kept open."""

    def _read_if_small(self) -> bytes | None:
        try:
            # Not a file object: for a small file, making one takes as long as the reading.
            descriptor = os.open(self.path, _READ)
            try:
                text = os.read(descriptor, _AT_ONCE)
                if len(text) < _AT_ONCE:  # a read of a disk file is short only at its end
                    return text
                size = os.fstat(descriptor).st_size
                if size > SMALL:
                    return None
                text += os.read(descriptor, size + 1)
                return text if len(text) == size else None  # a file that is growing is not kept
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._unreadable(error) from error

    def _first_line(self) -> bytes:
        if self._text is None:
            return next(self._read_lines(), b"")
        return self._text[: self._text.find(b"\n") + 1] or self._text

    def _every_line(self) -> Iterator[bytes]:
        return self._read_lines() if self._text is None else iter(io.BytesIO(self._text))

    def _read_lines(self) -> Iterator[bytes]:
        try:
            with open(self.path, "rb") as file:
                yield from file
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> StoreError:
        if isinstance(error, FileNotFoundError):
            return StoreError(
                f"there is no trace file {self.path}; `autochron traces export TRACE FILE` makes one"
            )
        return StoreError(f"{self.path} can't be read ({error.strerror}); give another path")

    def _refuse(self, line: int, fact: str, remedy: str) -> NoReturn:
        raise TraceFormatError(f"{self.path}:{line}: {fact}; {remedy}")

    def _header(self, line: bytes) -> Header:
        remedy = "export the trace again"
        if not line.endswith(b"\n"):
            self._refuse(1, "the file is truncated" if line else "the file is empty", remedy)
        with contextlib.suppress(*_MALFORMED):
            if (head := _head.decode(line)).autochron in READ:
                return head.header
        try:
            version = _version.decode(line).get("autochron")
            number = -1 if version is None else msgspec.json.decode(version, type=int)
        except _MALFORMED as error:
            self._refuse(1, f"this is no autochron trace ({error})", "give the path of a trace file")
        if number > FORMAT:
            newer = f"format {number} was made by a newer autochron (this one knows {FORMAT})"
            self._refuse(1, newer, "upgrade autochron")
        if number not in READ:
            self._refuse(1, "this is no autochron trace: no known version", "give the path of a trace file")
        try:
            return _head.decode(line).header
        except _MALFORMED as error:
            self._refuse(1, f"the header is malformed ({error})", remedy)

    def _verify(self) -> None:
        """Check the digest, and set the number of lines that it covers."""
        digest, lines, last = self._digest()
        if not last.startswith(b'{"digest":'):
            if not self._reseal:
                self._refuse(
                    lines + 1,
                    "the file is truncated: it doesn't end with its digest",
                    f"export it again; {EDITED}",
                )
            if not last.endswith(b"\n"):
                self._refuse(lines + 1, "the last line is cut off", "export it again, or delete that line")
            self._lines = lines + 1
            return
        self._lines = lines
        if self._reseal:
            return
        try:
            stored = _digest.decode(last)
        except _MALFORMED as error:
            self._refuse(lines + 1, f"the digest is malformed ({error})", EDITED)
        if stored.lines != lines:
            self._refuse(
                lines + 1, f"there are {lines} lines and not the {stored.lines} that were written", EDITED
            )
        if stored.digest != f"sha256:{digest}" or not last.endswith(b"\n"):
            self._refuse(lines + 1, "the digest is wrong: the file isn't as it was written", EDITED)

    def _digest(self) -> tuple[str, int, bytes]:
        """Return the digest of all lines but the last, the number of these lines, and the last line."""
        text = self._text
        if text is not None:
            start = text.rfind(b"\n", 0, len(text) - 1) + 1
            digest = hashlib.sha256(memoryview(text)[:start])
            return digest.hexdigest(), text.count(b"\n", 0, start), text[start:]
        digest, lines, last = hashlib.sha256(), 0, b""
        for line in self._every_line():
            if last:
                digest.update(last)
                lines += 1
            last = line
        return digest.hexdigest(), lines, last

    def _read(self) -> Iterator[Envelope | Footer]:
        """Yield the envelopes, and then the footer if there is one."""
        reader, last, ended = LineReader(compact=self._reseal), 0, False
        remedy = "put the line right, or export the trace again"
        for number, line in enumerate(self._every_line(), 1):
            if number == 1:
                continue
            if number > self._lines:
                return
            if ended:
                self._refuse(number, "a line follows the footer", remedy)
            ended = line.startswith(_FOOTER)
            entry: Envelope | Footer
            try:
                line.decode()  # check the encoding now: bodies are kept as they are, and decoded later
                entry = reader.footer(line) if ended else reader.envelope(line)
            except _MALFORMED as error:
                self._refuse(number, f"the line is malformed ({error})", remedy)
            if isinstance(entry, Footer):
                yield entry
                continue
            if entry.seq <= last:
                relation = "comes twice" if entry.seq == last else f"comes after {last}"
                self._refuse(
                    number, f"seq {entry.seq} ({entry.address}) {relation}", "keep lines in order of seq"
                )
            last = entry.seq
            yield entry
