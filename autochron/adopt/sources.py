"""Source files as they are in the file system: text, encoding, byte order mark, line ends, mode, and links."""

from __future__ import annotations

import codecs
import io
import stat
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.errors import AdoptionError


@dataclass(frozen=True)
class PythonFile:
    """A Python file.

    Attributes:
        path: the path as it was named, for messages.
        real: the path of the file itself, behind all links.
        data: its bytes.
        text: its text, without the byte order mark and with its own line ends.
        encoding: the encoding that its first lines name, or UTF-8.
    """

    path: str
    real: str
    data: bytes
    text: str
    encoding: str

    def encoded(self, text: str) -> bytes:
        """Return a text as the bytes of this file, with the mark and in the encoding that it has.

        Raises:
            UnicodeEncodeError: the encoding has no such character.
        """
        mark = codecs.BOM_UTF8 if self.data.startswith(codecs.BOM_UTF8) else b""
        return mark + text.encode(self.encoding)


def read(path: str) -> PythonFile:
    """Read a file.

    Raises:
        AdoptionError: it can't be read, or is no text.
    """
    real = os.path.realpath(path)
    data = read_bytes(path)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        encoding = encoding.removesuffix("-sig")
        text = data.removeprefix(codecs.BOM_UTF8).decode(encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise AdoptionError(f"{path}:1: the file can't be decoded ({error}); nothing was changed") from error
    return PythonFile(path, real, data, text, encoding)


def read_bytes(path: str) -> bytes:
    """Return the content of a file.

    Raises:
        AdoptionError: it can't be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise AdoptionError(f"{path} can't be read ({error.strerror}); nothing was changed") from error


def write_all(contents: Sequence[tuple[PythonFile, bytes]]) -> None:
    """Replace the contents of files. Either all are replaced, or an error is raised and all are as before.

    A file that has one name is replaced atomically by a new one with its mode. One with further names (hard links) is
    written in place, so that all names go on leading to it.

    Raises:
        AdoptionError: a file can't be written, or was changed since it was read.
    """
    prepared: list[tuple[PythonFile, bytes, str]] = []
    written: list[PythonFile] = []
    try:
        for source, data in contents:
            prepared.append((source, data, _prepare(source, data)))
        for source, data, trial in prepared:
            written.append(source)
            _put(source.real, data, trial)
    except BaseException as error:
        for source in written:
            _put(source.real, source.data, "")
        if isinstance(error, OSError):
            place = error.filename or "a file"
            raise AdoptionError(
                f"{place} can't be written ({error.strerror}); nothing was changed"
            ) from error
        raise
    finally:
        for *_, trial in prepared:
            if trial and os.path.exists(trial):
                os.unlink(trial)


def _prepare(source: PythonFile, data: bytes) -> str:
    """Write the new content beside a file, and return the path; empty for a file that is written in place."""
    with open(source.real, "rb") as file:
        if file.read() != source.data:
            raise AdoptionError(f"{source.path} was changed meanwhile; nothing was changed: try again")
        facts = os.fstat(file.fileno())
    if facts.st_nlink > 1:
        return ""
    folder, name = os.path.split(source.real)
    trial = os.path.join(folder, f".{name}.autochron-{unpatched.getpid()}")
    descriptor = os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
        os.chmod(trial, stat.S_IMODE(facts.st_mode))
    return trial


def _put(path: str, data: bytes, trial: str) -> None:
    if trial:
        os.replace(trial, path)
        return
    with open(path, "wb") as file:
        file.write(data)
