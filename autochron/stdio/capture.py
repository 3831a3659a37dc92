"""Capture what a program reads and writes on its standard streams, while it is recorded or replayed."""

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
from autochron.stdio.transcript import Transcript
from autochron.store.detached import Work


class Capture:
    """Captures the standard streams of one program.

    Attributes:
        output: standard output at its descriptor.
        stdout: what Python's streams and `os.write` wrote, in the order of the calls.
    """

    def __init__(self) -> None:
        self.output = OutputDescriptor()
        self.stdout = std_streams.CapturedBytes()
        self._printed = std_streams.CapturedBytes()
        """What Python's streams alone wrote."""
        self._input = InputDescriptor()
        self._stdin = std_streams.CapturedBytes()
        self._stderr: std_streams.CapturedBytes | None = None
        self._undo: list[Callable[[], None]] = []

    def hold(self, *beside: Work) -> None:
        """Start the capture at the descriptor of standard output, before any thread is started.

        `beside` are other processes of ours, which are started together with the relay.
        """
        self.output.start(*beside)

    def start(self, printed: Callable[..., None] | None = None, *, errors: bool = False) -> None:
        """Listen to the streams.

        Args:
            printed: called with the text of each print; for a call of `os.write` with its bytes as Latin-1 text and
                with `is_written`.
            errors: whether to listen to standard error too.
        """
        if errors:
            self._stderr = std_streams.CapturedBytes()
            self._undo.append(std_streams.listen_to_output(self._stderr, errors=True))
        if printed is not None:
            self._undo.append(std_streams.listen_to_prints(printed))
        self._undo.append(std_streams.listen_to_output(self._note))

        def written(data: bytes) -> None:
            self.stdout(data)
            if printed is not None:
                # Latin-1 has one character for each byte: the data may be no text.
                printed(data.decode("latin-1"), is_written=True)

        self._undo.append(note_writes(written))

    def listen(self, taken: std_streams.ReadListener) -> None:
        """Note what the program reads from standard input; `taken` is called with kind and amount of each reading."""
        self._input.start()
        self._undo.append(std_streams.listen_to_stdin(self._stdin, taken))
        self._undo.append(std_streams.listen_to_input(self._stdin, self.stdout, taken))

        def read(data: bytes) -> None:
            self._stdin(data)
            taken("descriptor", len(data))

        self._undo.append(note_reads(read))

    def serve_recorded(self, footer: Footer | None) -> None:
        """Serve the recorded standard input to the program; without a footer, none."""
        from autochron.envelope import bodies  # lazy: only a replay needs it

        data, kind = (b"", "") if footer is None else (bodies.restore_body(footer.stdin), footer.stdin_kind)
        self._undo.append(serve_input(data, kind) or std_streams.serve_stdin(data))

    def _note(self, data: bytes) -> None:
        self.stdout(data)
        self._printed(data)

    @property
    def printed(self) -> bytes:
        """What Python's streams alone wrote."""
        return self._printed.data

    @property
    def unseen(self) -> dict[str | int, str]:
        """The paths and descriptors of streams that are not captured at their descriptors, with a name for each."""
        names: dict[str | int, str] = {}
        if not self.output.kind:
            names |= dict.fromkeys(paths_of(OUTPUT), "standard output") | {"/dev/tty": "the terminal"}
        if self._input.kind != "file":
            names |= dict.fromkeys(paths_of(INPUT), "standard input")
        else:  # a path opens the file anew, from its start; the number means the captured descriptor
            names |= dict.fromkeys(paths_of(INPUT)[1:], "standard input")
        return names

    def transcript(self, during: Sequence[tuple[int, int, int]] = ()) -> Transcript:
        """Return the transcript so far: what the program has written and read.

        Args:
            during: for each tool the range of output offsets in bytes while it ran, and the `seq` of its crossing.
        """
        kind = self._input.kind
        stdin = self._input.read(self._stdin.data)
        whole_output = self.output.content()
        stderr = None if self._stderr is None else self._stderr.data_and_rest
        is_cut = self._stdin.is_cut
        transcript = Transcript(
            self.stdout.data_and_rest, stdin, stdin_kind=kind, is_stdin_cut=is_cut, stderr=stderr
        )
        if whole_output is None:
            return transcript
        unprinted_lines = unprinted(whole_output, self.printed, during)
        return structs.replace(transcript, stdout=whole_output, is_whole=True, unprinted=unprinted_lines)

    def stop(self, *, flushes: bool = True) -> None:
        """Stop listening, after a flush of Python's and C's streams.

        Args:
            flushes: whether to flush. Not if the process ends without it, as by `os._exit`.
        """
        try:
            if flushes:
                sys.stdout.flush()
                if self._stderr is not None:
                    sys.stderr.flush()
                if "_ctypes" in sys.modules:
                    flush_c()
        except Exception:  # noqa: S110 - Python reports at exit what can't be written
            pass
        while self._undo:
            self._undo.pop()()

    def take_over(self) -> None:
        """Go on in a fork, in whose place of standard output is another file with the same content."""
        self.output.take_over()

    def let_go(self) -> None:
        """Restore the descriptor of standard output."""
        self.output.stop()
