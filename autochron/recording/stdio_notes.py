"""What is printed, and read from standard input, inside crossings: a replay that serves them does the same again."""

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
        heard: the `id` of the stream whose prints are reported, where any are; who holds the stream keeps Python from
            flushing it.
        listen: has prints into the stream that stands in its place reported, too; returns the undo.
        position: returns how much was written to the descriptor of standard output so far; None where that is not known.
        said_during: from where to where that grew while a tool ran, with the tool's `seq`.
    """

    def __init__(self, open_crossings: Mapping[int, Crossing[Draft]]) -> None:
        self._open = open_crossings
        self._prints = 0
        self.latest = 0
        self.heard = identity(sys.stdout)
        self.listen: Callable[[Callable[[str], None]], Callable[[], None]] | None = None
        self.position: Callable[[], int] | None = None
        self.said_during: list[tuple[int, int, int]] = []

    def needs_attention(self) -> bool:
        """Return whether a tool that begins now is to be attended to: it may write past the stream that is listened to."""
        return self.position is not None or identity(sys.stdout) != self.heard

    def attend(self, draft: Draft) -> None:
        """Note where standard output stands as a tool begins."""
        draft.is_attended = True
        if self.position is not None:
            draft.position = self.position()
        if self.listen is not None and identity(sys.stdout) != self.heard:
            draft.undo = self.listen(self.printed)

    def finish(self, crossing: Crossing[Draft], draft: Draft) -> None:
        """Note what was written since `attend`, and whether others printed in between."""
        if draft.undo is not None:
            draft.undo()
            draft.undo = None
        if draft.prints:
            draft.are_mixed = self._are_mixed(crossing, draft.prints)
        if draft.position >= 0 and self.position is not None and not draft.streamed:
            now = self.position()
            if now != draft.position:
                self.said_during.append((draft.position, now, crossing.seq))

    def printed(self, text: str, *, is_written: bool = False) -> None:
        """Note what is printed inside crossings that a replay serves."""
        self._prints += 1
        for draft in _drafts_around():
            if draft.prints is None:
                draft.prints = []
                draft.is_attended = True
            draft.prints.append(drafts.Print(draft.items, text, self._prints, self.latest, is_written))

    def taken(self, kind: str, count: int) -> None:
        """Note how much is taken from standard input inside crossings: where one is served, as much is taken again."""
        for draft in _drafts_around():
            draft.taken = [*(draft.taken or ()), (kind, count)]

    def _are_mixed(self, crossing: Crossing[Draft], prints: list[Print]) -> bool:
        """Return whether others printed since a crossing's first print, or may do so that run beside it."""
        if self._prints - prints[0].number + 1 != len(prints):
            return True
        around = set()
        above: Any = crossing
        while above is not None:
            around.add(above.seq)
            above = above.parent
        return any(seq not in around for seq in list(self._open))


def _drafts_around() -> Iterator[Draft]:
    """Yield the drafts of the open crossings around what runs now, but for those whose bodies run on replay."""
    current = CURRENT.get(None)
    crossing = current if type(current) is Crossing else getattr(current, "parent", None)
    while crossing is not None:
        draft = crossing.record
        # Also of one that is left to its exchanges: it may come to have none.
        if type(draft) is drafts.Draft and not crossing.done and not crossing.boundary.runs:
            yield draft
        crossing = crossing.parent
