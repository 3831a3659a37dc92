"""What was tried so far, a line each: a study that is cut short, by whoever, goes on where it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TypeAlias

import msgspec
from msgspec import Struct

from autochron._runtime.own_folder import make_folder
from autochron.errors import UsageError
from autochron.mutate.protocol import Ready, ServerKind, TrialReply


class _Head(Struct, frozen=True, tag="head"):
    digest: str


class _Began(Struct, frozen=True, tag="ready"):
    server: ServerKind
    ready: Ready


class _Tried(Struct, frozen=True, tag="tried"):
    server: ServerKind
    reply: TrialReply


class _Agreed(Struct, frozen=True, tag="agreed"):
    mutant: str
    killed: bool


_Any: TypeAlias = _Head | _Began | _Tried | _Agreed
_LINE = msgspec.json.Decoder(_Any)


class Journal:
    """The journal of one incident."""

    def __init__(self, path: str, digest: str) -> None:
        """Read what there is, if it is of the same study; else begin anew."""
        self._path = path
        self._head = _Head(digest)
        self._ready: dict[ServerKind, Ready] = {}
        self._replies: dict[tuple[ServerKind, str], TrialReply] = {}
        self._agreed: dict[str, bool] = {}
        lines = list(_lines(path))
        if lines[:1] == [self._head]:
            for each in lines[1:]:
                if isinstance(each, _Began):
                    self._ready[each.server] = each.ready
                elif isinstance(each, _Tried):
                    self._replies[each.server, each.reply.id] = each.reply
                elif isinstance(each, _Agreed):
                    self._agreed[each.mutant] = each.killed
            self._open(os.O_APPEND)
            # Of a line that was cut off the rest would stand before the next one.
            os.write(self._file, b"\n")
        else:
            self._open(os.O_TRUNC)
            self._write(self._head)

    def forget(self) -> None:
        """Begin anew: what was tried is something else than there is now."""
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

    def _write(self, line: _Any) -> None:
        view = memoryview(msgspec.json.encode(line) + b"\n")
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            raise UsageError(
                f"{self._path} can't be written ({error.strerror}); what was tried so far is in it"
            ) from error

    def ready(self, server: ServerKind) -> Ready | None:
        """Return what a process said of itself."""
        return self._ready.get(server)

    def began(self, server: ServerKind, ready: Ready) -> None:
        """Keep what a process said of itself."""
        self._ready[server] = ready
        self._write(_Began(server, ready))

    def reply(self, server: ServerKind, mutant: str) -> TrialReply | None:
        """Return what came of a trial."""
        return self._replies.get((server, mutant))

    def tried(self, server: ServerKind, reply: TrialReply) -> None:
        """Keep what came of a trial."""
        self._replies[server, reply.id] = reply
        self._write(_Tried(server, reply))

    def agreed(self, mutant: str) -> bool | None:
        """Return whether plain cosmic-ray calls a mutant killed; None where it wasn't asked."""
        return self._agreed.get(mutant)

    def agree(self, mutant: str, *, killed: bool) -> None:
        """Keep what plain cosmic-ray says."""
        self._agreed[mutant] = killed
        self._write(_Agreed(mutant, killed))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _lines(path: str) -> Iterator[_Any]:
    """Yield the lines that are whole."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return
    for line in data.split(b"\n"):
        try:
            yield _LINE.decode(line)
        except msgspec.DecodeError:
            continue
