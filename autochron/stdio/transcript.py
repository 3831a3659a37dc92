"""The transcript of a program's standard streams."""

from __future__ import annotations

from msgspec import Struct

from autochron.model import Unprinted


class Transcript(Struct, frozen=True):
    """What a program wrote to standard output and standard error, and read from standard input.

    The streams are not masked yet, unlike those of `Footer`.

    Attributes:
        stdout: standard output.
        stdin: standard input.
        is_whole: whether `stdout` is everything that was written to the descriptor, and not only by Python's streams
            and `os.write`.
        unprinted: the lines of `stdout` that Python's streams did not print.
        stdin_kind: `file`, `pipe`, `terminal` or empty, see `InputDescriptor`.
        is_stdin_cut: whether more was read than `stdin` holds.
        stderr: standard error; None if it was not captured.
    """

    stdout: bytes = b""
    stdin: bytes = b""
    is_whole: bool = False
    unprinted: tuple[Unprinted, ...] = ()
    stdin_kind: str = ""
    is_stdin_cut: bool = False
    stderr: bytes | None = None


EMPTY_TRANSCRIPT = Transcript()
