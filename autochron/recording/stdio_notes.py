"""Notes on prints and on reads from standard input inside crossings. A replay that serves a crossing repeats them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from autochron._runtime.bare import identity
from autochron._runtime.lazy import late_modules
from autochron.crossing.crossing import Crossing
from autochron.crossing.lanes import CURRENT

if TYPE_CHECKING:
    from autochron.recording import drafts
    from autochron.recording.drafts import Draft, Print
else:
    late_modules(globals(), "autochron.recording.drafts")


class StdioNotes:
    """Notes prints and reads in the drafts of the crossings that are open around them.

    Attributes:
        latest: the `seq` of the crossing that began last.
        heard: the `id` of the stream whose prints are reported. Not the stream: a reference would keep Python from flushing
            it.
        listen: begins to report prints into the stream that now replaces it; returns the function that stops this.
        position: returns how many bytes were written to the descriptor of standard output so far; None if that is unknown.
        tool_ranges: (start, end, seq) of each tool that ran while output was written: the positions of standard output in
            bytes at its begin and its end, and its `seq`.
    """

    def __init__(self, open_crossings: Mapping[int, Crossing[Draft]]) -> None:
        self._open = open_crossings
        self._prints = 0
        self.latest = 0
        self.heard = identity(sys.stdout)
        self.listen: Callable[[Callable[[str], None]], Callable[[], None]] | None = None
        self.position: Callable[[], int] | None = None
        self.tool_ranges: list[tuple[int, int, int]] = []

    def needs_attention(self) -> bool:
        """Return whether to attend to a tool that begins now: it may write past the stream whose prints are reported."""
        return self.position is not None or identity(sys.stdout) != self.heard

    def attend(self, draft: Draft) -> None:
        """Note the position of standard output as a tool begins."""
        draft.is_attended = True
        if self.position is not None:
            draft.position = self.position()
        if self.listen is not None and identity(sys.stdout) != self.heard:
            draft.undo = self.listen(self.printed)

    def finish(self, crossing: Crossing[Draft], draft: Draft) -> None:
        """Note how much was written since `attend`, and whether prints from elsewhere came in between."""
        if draft.undo is not None:
            draft.undo()
            draft.undo = None
        if draft.prints:
            draft.are_mixed = self._are_mixed(crossing, draft.prints)
        if draft.position >= 0 and self.position is not None and not draft.streamed:
            position = self.position()
            if position != draft.position:
                self.tool_ranges.append((draft.position, position, crossing.seq))

    def printed(self, text: str, *, is_written: bool = False) -> None:
        """Note a print in the open crossings around it that a replay serves.

        Args:
            text: what was printed.
            is_written: whether `os.write` wrote it, and not Python's stream.
        """
        self._prints += 1
        for draft in _drafts_around():
            if draft.prints is None:
                draft.prints = []
                draft.is_attended = True
            draft.prints.append(drafts.Print(draft.items, text, self._prints, self.latest, is_written))

    def taken(self, kind: str, count: int) -> None:
        """Note how much was read from standard input inside open crossings: a replay reads as much when it serves one."""
        for draft in _drafts_around():
            draft.taken = [*(draft.taken or ()), (kind, count)]

    def _are_mixed(self, crossing: Crossing[Draft], prints: list[Print]) -> bool:
        """Return whether prints from elsewhere came after a crossing's first one, or may have: others run beside it."""
        if self._prints - prints[0].number + 1 != len(prints):
            return True
        enclosing = set()
        ancestor: Any = crossing
        while ancestor is not None:
            enclosing.add(ancestor.seq)
            ancestor = ancestor.parent
        return any(seq not in enclosing for seq in list(self._open))


def _drafts_around() -> Iterator[Draft]:
    """Yield the drafts of the open crossings around the running code, except those whose bodies run on replay."""
    current = CURRENT.get(None)
    crossing = current if type(current) is Crossing else getattr(current, "parent", None)
    while crossing is not None:
        draft = crossing.record
        # Including crossings whose record may be their exchanges: they may turn out to have none.
        if type(draft) is drafts.Draft and not crossing.done and not crossing.boundary.runs:
            yield draft
        crossing = crossing.parent
