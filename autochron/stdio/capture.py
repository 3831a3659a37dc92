"""What a program reads and prints, while it is recorded or replayed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from msgspec import structs

from autochron._runtime import std_streams
from autochron.model import Footer
from autochron.stdio.descriptors import (
    INPUT,
    OUTPUT,
    InputDescriptor,
    OutputDescriptor,
    flush_c,
    note_reads,
    note_writes,
    paths_of,
    serve_input,
    unprinted,
)
from autochron.stdio.transcript import Said
from autochron.store.detached import Work


class Capture:
    """What a program reads and prints, while it is recorded or replayed."""

    def __init__(self) -> None:
        self.output = OutputDescriptor()
        self.stdout = std_streams.Kept()
        """What Python's streams and `os.write` wrote, in the order of the calls."""
        self._printed = std_streams.Kept()
        """What Python's streams wrote."""
        self._input = InputDescriptor()
        self._stdin = std_streams.Kept()
        self._stderr: std_streams.Kept | None = None
        self._undo: list[Callable[[], None]] = []

    def hold(self, *beside: Work) -> None:
        """Begin with what needs a process of its own, before any thread is started; and start others beside it."""
        self.output.start(*beside)

    def start(self, printed: Callable[..., None] | None = None, *, errors: bool = False) -> None:
        """Listen to the streams. `printed` is told of each print, and with `is_written` of what `os.write` writes.

        With `errors` also to standard error.
        """
        if errors:
            self._stderr = std_streams.Kept()
            self._undo.append(std_streams.listen_to_output(self._stderr, errors=True))
        if printed is not None:
            self._undo.append(std_streams.listen_to_prints(printed))
        self._undo.append(std_streams.listen_to_output(self._note))

        def written(data: bytes) -> None:
            self.stdout(data)
            if printed is not None:
                printed(data.decode("latin-1"), is_written=True)  # byte by byte: it may be no text

        self._undo.append(note_writes(written))

    def listen(self, taken: std_streams.Taken) -> None:
        """Note what the program reads, and tell how much it takes."""
        self._input.start()
        self._undo.append(std_streams.listen_to_stdin(self._stdin, taken))
        self._undo.append(std_streams.listen_to_input(self._stdin, self.stdout, taken))

        def read(data: bytes) -> None:
            self._stdin(data)
            taken("descriptor", len(data))

        self._undo.append(note_reads(read))

    def serve_recorded(self, footer: Footer | None) -> None:
        """Let the program read what the recorded one read."""
        from autochron.envelope import bodies  # lazy: on a replay

        data, kind = (b"", "") if footer is None else (bodies.restore_body(footer.stdin), footer.stdin_kind)
        self._undo.append(serve_input(data, kind) or std_streams.serve_stdin(data))

    def _note(self, data: bytes) -> None:
        self.stdout(data)
        self._printed(data)

    @property
    def printed(self) -> bytes:
        """What Python's streams wrote."""
        return self._printed.data

    @property
    def unseen(self) -> dict[str | int, str]:
        """From the paths of streams that are not known at their descriptors to what they are."""
        found: dict[str | int, str] = {}
        if not self.output.kind:
            found |= dict.fromkeys(paths_of(OUTPUT), "standard output") | {"/dev/tty": "the terminal"}
        if self._input.kind != "file":
            found |= dict.fromkeys(paths_of(INPUT), "standard input")
        else:  # by its path it is another file, from its start; by its number it is the same
            found |= dict.fromkeys(paths_of(INPUT)[1:], "standard input")
        return found

    def said(self, during: Sequence[tuple[int, int, int]] = ()) -> Said:
        """Return what the program wrote and read so far; `during` is as in `unprinted`."""
        kind = self._input.kind
        stdin = self._input.read(self._stdin.data)
        whole = self.output.said()
        stderr = None if self._stderr is None else self._stderr.data_and_rest
        cut = self._stdin.is_cut
        found = Said(self.stdout.data_and_rest, stdin, stdin_kind=kind, is_stdin_cut=cut, stderr=stderr)
        if whole is None:
            return found
        foreign = unprinted(whole, self.printed, during)
        return structs.replace(found, stdout=whole, is_whole=True, unprinted=foreign)

    def stop(self, *, flushes: bool = True) -> None:
        """Have noted what waits, unless the process ends without; what can't be written stays, for Python to say so."""
        try:
            if flushes:
                sys.stdout.flush()
                if self._stderr is not None:
                    sys.stderr.flush()
                if "_ctypes" in sys.modules:
                    flush_c()
        except Exception:  # noqa: S110 - see above
            pass
        while self._undo:
            self._undo.pop()()

    def let_go(self) -> None:
        """Leave the descriptors as they were."""
        self.output.stop()
