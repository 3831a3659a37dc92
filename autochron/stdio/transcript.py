"""What a program wrote to its standard output and read from its standard input."""

from __future__ import annotations

from msgspec import Struct

from autochron.model import Unprinted


class Said(Struct, frozen=True):
    """What a program wrote to standard output and read from standard input; see `Footer`."""

    stdout: bytes = b""
    stdin: bytes = b""
    is_whole: bool = False
    unprinted: tuple[Unprinted, ...] = ()
    stdin_kind: str = ""
    is_stdin_cut: bool = False
    stderr: bytes | None = None


NOTHING_SAID = Said()
