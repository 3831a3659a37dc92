"""Trace files: a trace as JSON Lines that people read, edit and compare.

The first line is `{"autochron": 1, "header": …}`; then one line an envelope in order of start, one for the
footer, if the trace has one, and one for the digest over the bytes before it. `lines` tells what is in a
line, `patches` how an input that continues the one before is written. Both directions stream: memory is that
of the last bodies of each boundary.
"""

# Paths are shown as they were given.

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
"""Bytes of a file that is read at once, and kept: what was checked is then what is read, however often."""

_FOOTER = b'{"footer"'

_AT_ONCE = 1 << 14
"""Bytes of a file that are read without asking for its size."""

_MALFORMED = (msgspec.MsgspecError, patches.PatchError, RecursionError, UnicodeError)
"""What reading text that was damaged raises."""

_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0)

EDITED = "edited? `autochron traces import FILE --reseal` accepts it"


def write_trace(trace: Trace, path: str) -> None:
    """Write a trace file, whole or not at all."""
    write_stream(trace.header, trace.envelopes, trace.footer, path)


def write_stream(header: Header, envelopes: Iterable[Envelope], footer: Footer | None, path: str) -> None:
    """Write a trace file from envelopes that come in order of start, whole or not at all."""
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
    """Read a trace file whole; with `reseal` its digest may be wrong or missing, and its bodies indented."""
    return TraceFileStore(path, reseal=reseal).load("last")


class TraceFileStore:
    """A trace file as a store that holds one trace, to read only.

    The digest is checked when it is made, before anything is believed, and lines are read as they are asked
    for.
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
        """Refuse: a file is exported, not recorded into."""
        raise StoreError(
            f"{self.path} is a trace file and can't be recorded into; record into a store and export it"
        )

    def join(self, trace: str, lane: str, label: str) -> tuple[Sink, str, int]:
        """Refuse: a file is exported, not recorded into."""
        raise StoreError(f"{self.path} is a trace file and can't be recorded into; record into a store")

    def children(self, reference: str) -> list[Child]:
        """List no child processes: a file doesn't tell whose crossings are whose, but by their lanes."""
        return []

    def count(self, trace: str) -> int:
        """Count the crossings of the trace of an id."""
        return sum(self.counts(trace).values())

    def counts(self, reference: str) -> dict[str, int]:
        """Count the crossings of a trace by name."""
        return Counter(envelope.name for envelope in self.envelopes(reference))

    def drop(self, ids: Sequence[str]) -> None:
        """Refuse: a file is removed, not emptied."""
        raise StoreError(f"{self.path} is a trace file, from which nothing can be dropped; remove the file")

    def summaries(self) -> list[TraceSummary]:
        """List the one trace."""
        crossings, footer = 0, None
        for found in self._read():
            if isinstance(found, Footer):
                footer = found
            else:
                crossings += 1
        status = footer.status if footer else None
        return [TraceSummary(self.header, crossings, status, footer is not None, os.path.getsize(self.path))]

    def find(self, reference: str) -> str:
        """Return the id of the trace, if its name, its id, the id's beginning or `last` is asked for."""
        header = self.header
        return lookup.find(reference, [(header.id, header.name, header.created)], self.path)

    def outline(self, reference: str) -> tuple[Header, Footer | None]:
        """Return header and footer of the trace."""
        self.find(reference)
        return self.header, next((found for found in self._read() if isinstance(found, Footer)), None)

    def load(self, reference: str) -> Trace:
        """Read the trace whole."""
        self.find(reference)
        whole = self._whole()
        if whole is not None:
            return whole
        envelopes: list[Envelope] = []
        footer = None
        for found in self._read():
            if isinstance(found, Footer):
                footer = found
            else:
                envelopes.append(found)
        return Trace(self.header, tuple(envelopes), footer)

    def _whole(self) -> Trace | None:
        """Read a small file at once; None where it is another, or something is wrong, which is told line by line."""
        text = self._text
        if text is None or self._reseal:
            return None
        start, end = text.index(b"\n") + 1, text.rfind(b"\n", 0, len(text) - 1) + 1
        last = text.rfind(b"\n", start, end - 1) + 1 or start
        has_footer = text.startswith(_FOOTER, last)
        reader = LineReader()
        try:
            text.decode()  # bodies are kept as they stand, and read later
            envelopes = reader.envelopes(text[start : last if has_footer else end])
            footer = reader.footer(text[last:end]) if has_footer else None
        except _MALFORMED:
            return None
        seq = 0
        for each in envelopes:
            if each.seq <= seq:
                return None
            seq = each.seq
        return Trace(self.header, tuple(envelopes), footer)

    def record(self, reference: str) -> Record:
        """Open a trace to be replayed."""
        return WholeRecord(self.load(reference))

    def envelopes(self, reference: str) -> Iterator[Envelope]:
        """Read the envelopes one by one."""
        self.find(reference)
        return (found for found in self._read() if isinstance(found, Envelope))

    def close(self) -> None:
        """Let go of the file; nothing is held."""

    def _read_if_small(self) -> bytes | None:
        try:
            file = os.open(
                self.path, _READ
            )  # not a file object: of a small file that costs as much as the reading
            try:
                text = os.read(file, _AT_ONCE)
                if len(text) < _AT_ONCE:  # of a file on a disk that is all
                    return text
                size = os.fstat(file).st_size
                if size > SMALL:
                    return None
                text += os.read(file, size + 1)
                return text if len(text) == size else None  # one that grows is none to keep
            finally:
                os.close(file)
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

    def _refuse(self, line: int, what: str, remedy: str) -> NoReturn:
        raise TraceFormatError(f"{self.path}:{line}: {what}; {remedy}")

    def _header(self, line: bytes) -> Header:
        remedy = "export the trace again"
        if not line.endswith(b"\n"):
            self._refuse(1, "the file is truncated" if line else "the file is empty", remedy)
        with contextlib.suppress(*_MALFORMED):
            if (found := _head.decode(line)).autochron in READ:
                return found.header
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
        """Check the digest, and note how many lines it covers."""
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
            said = _digest.decode(last)
        except _MALFORMED as error:
            self._refuse(lines + 1, f"the digest is malformed ({error})", EDITED)
        if said.lines != lines:
            self._refuse(
                lines + 1, f"there are {lines} lines and not the {said.lines} that were written", EDITED
            )
        if said.digest != f"sha256:{digest}" or not last.endswith(b"\n"):
            self._refuse(lines + 1, "the digest is wrong: the file isn't as it was written", EDITED)

    def _digest(self) -> tuple[str, int, bytes]:
        """Return the digest of all lines but the last, how many they are, and the last one."""
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
        """Read the lines between header and digest."""
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
            found: Envelope | Footer
            try:
                line.decode()  # bodies are kept as they stand, and read later
                found = reader.footer(line) if ended else reader.envelope(line)
            except _MALFORMED as error:
                self._refuse(number, f"the line is malformed ({error})", remedy)
            if isinstance(found, Footer):
                yield found
                continue
            if found.seq <= last:
                what = "comes twice" if found.seq == last else f"comes after {last}"
                self._refuse(
                    number, f"seq {found.seq} ({found.address}) {what}", "keep lines in order of seq"
                )
            last = found.seq
            yield found
