"""The journal of an incident: what was tried so far, a line each, so that an interrupted study can be resumed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec import Struct

from autochron._runtime.own_folder import make_folder
from autochron.errors import UsageError
from autochron.mutate.protocol import Ready, TrialReply


class _Head(Struct, frozen=True, tag="head"):
    digest: str


class _Began(Struct, frozen=True, tag="ready"):
    server: str
    ready: Ready


class _Tried(Struct, frozen=True, tag="tried"):
    server: str
    reply: TrialReply


class _Agreed(Struct, frozen=True, tag="agreed"):
    mutant: str
    killed: bool


_Entry: TypeAlias = _Head | _Began | _Tried | _Agreed
_DECODER = msgspec.json.Decoder(_Entry)


class Journal:
    """The journal of one incident."""

    def __init__(self, path: str, digest: str) -> None:
        """Read the journal, or start a new one where it belongs to another study.

        Args:
            path: the path of its file.
            digest: identifies the study; replies of other code of autochron are of another study, too.

        Raises:
            UsageError: the file can't be written.
        """
        self._path = path
        self._head = _Head(f"{digest} {_digest_of_ours()}")
        self._ready: dict[str, Ready] = {}
        self._replies: dict[tuple[str, str], TrialReply] = {}
        self._agreed: dict[str, bool] = {}
        entries = list(_read_entries(path))
        if entries[:1] == [self._head]:
            for entry in entries[1:]:
                if isinstance(entry, _Began):
                    self._ready[entry.server] = entry.ready
                elif isinstance(entry, _Tried):
                    self._replies[entry.server, entry.reply.id] = entry.reply
                elif isinstance(entry, _Agreed):
                    self._agreed[entry.mutant] = entry.killed
            self._open(os.O_APPEND)
            # Ends a last line that was cut off, so that the next one starts on a line of its own.
            os.write(self._file, b"\n")
        else:
            self._open(os.O_TRUNC)
            self._write(self._head)

    def forget(self) -> None:
        """Remove all entries: the files have changed since they were written."""
        self._ready.clear()
        self._replies.clear()
        self._agreed.clear()
        os.close(self._file)
        self._open(os.O_TRUNC)
        self._write(self._head)

    def _open(self, flag: int) -> None:
        try:
            make_folder(os.path.dirname(self._path))
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | flag, 0o644)
        except OSError as error:
            raise UsageError(
                f"{self._path} can't be written ({error.strerror}); name another folder with --out"
            ) from error

    def _write(self, entry: _Entry) -> None:
        view = memoryview(msgspec.json.encode(entry) + b"\n")
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            raise UsageError(
                f"{self._path} can't be written ({error.strerror}); what was tried so far is in it"
            ) from error

    def ready(self, server: str) -> Ready | None:
        """Return the `Ready` of a server; None where it isn't known."""
        return self._ready.get(server)

    def began(self, server: str, ready: Ready) -> None:
        """Keep the `Ready` of a server."""
        self._ready[server] = ready
        self._write(_Began(server, ready))

    def reply(self, server: str, job: str) -> TrialReply | None:
        """Return the reply of a trial by the id of its job; None where it isn't known."""
        return self._replies.get((server, job))

    def tried(self, server: str, reply: TrialReply) -> None:
        """Keep the reply of a trial."""
        self._replies[server, reply.id] = reply
        self._write(_Tried(server, reply))

    def agreed(self, mutant: str) -> bool | None:
        """Return whether plain cosmic-ray killed a mutant; None where it hasn't tried it."""
        return self._agreed.get(mutant)

    def agree(self, mutant: str, *, killed: bool) -> None:
        """Keep whether plain cosmic-ray killed a mutant."""
        self._agreed[mutant] = killed
        self._write(_Agreed(mutant, killed))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


@lru_cache(maxsize=1)
def _digest_of_ours() -> str:
    """Return a digest of autochron's own code."""
    digest = hashlib.sha256()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(name for name in names if name.endswith(".py")):
            with open(os.path.join(folder, name), "rb") as file:
                digest.update(f"{name}\0".encode() + file.read() + b"\0")
    return digest.hexdigest()[:16]


def _read_entries(path: str) -> Iterator[_Entry]:
    """Yield the entries of a journal, without lines that are not whole."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return
    for line in data.split(b"\n"):
        try:
            yield _DECODER.decode(line)
        except msgspec.DecodeError:
            continue
