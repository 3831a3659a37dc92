"""What the crossings of a recording come to, as they are prepared for the store."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING

from autochron._runtime.lazy import late_modules
from autochron.crossing.crossing import Crossing
from autochron.model import Envelope
from autochron.project import Project
from autochron.redaction.redactor import Redactor
from autochron.weaving.gate import Point

if TYPE_CHECKING:
    from autochron.envelope import type_trees
    from autochron.recording import envelope_editor
    from autochron.recording.drafts import Draft, Item
    from autochron.recording.envelope_editor import Editor
    from autochron.recording.requested_tools import Unanswered
    from autochron.redaction.mask_key import MaskKey
else:
    late_modules(globals(), "autochron.envelope.type_trees", "autochron.recording.envelope_editor")

_ADDRESS = re.compile(rb"\bat 0x[0-9a-f]{6,16}\b")
"""As Python shows an object of which no class says otherwise: `<agent.Order object at 0x7f3c9c0d1e50>`."""


_BEYOND = b'"$beyond":true'


class Tally:
    """Makes envelopes and items, and notes what the report tells of them; used by whoever writes only.

    Attributes:
        counts: crossings by name.
        opaque: parts that can't be rebuilt, each with the name of its crossing.
        by_type: parts of inputs that are compared by their type only.
        masked: parts that were masked.
        addresses: names of crossings whose input had an address in memory in it, with the first one.
        beyond: names of crossings with an input that is too large to be compared, with its path and where they stand.
    """

    def __init__(
        self,
        project: Project,
        redactor: Redactor,
        began: int,
        mask_key: Callable[[], MaskKey | None] | None = None,
    ) -> None:
        self.counts: dict[str, int] = {}
        self.opaque: dict[str, None] = {}
        self.by_type: dict[str, None] = {}
        self.masked: dict[str, None] = {}
        self.addresses: dict[str, str] = {}
        self.beyond: dict[str, tuple[str, str]] = {}
        self._project = project
        self._sites: dict[Point, str] = {}
        self._make_editor: Callable[[], Editor] = lambda: envelope_editor.Editor(
            redactor, self.site, began, mask_key or (lambda: None)
        )

    @cached_property
    def _editor(self) -> Editor:
        """Makes the envelopes; made with the first crossing."""
        return self._make_editor()

    def streams(self) -> Collection[int]:
        """Return the streams that have not ended and of which items wait for what comes next, by their `seq`."""
        return self._editor.streams if self._has_begun else ()

    @property
    def _has_begun(self) -> bool:
        return "_editor" in self.__dict__

    def envelope(self, crossing: Crossing[Draft], *, begun: bool = False) -> Envelope:
        """Make the envelope of a crossing; with `begun`, of a stream that is to be put again when it ends."""
        envelope = self._editor.envelope(crossing, begun=begun)
        self.counts[envelope.name] = max(self.counts.get(envelope.name, 0), envelope.nth)
        for path in envelope.opaque:
            if path.startswith(envelope_editor.IN_INPUT):
                self.by_type[f"{envelope.name}.{path.removeprefix(envelope_editor.IN_INPUT)}"] = None
            else:
                self.opaque[f"{envelope.name}: {path}"] = None
        if b"0x" in envelope.input and envelope.name not in self.addresses:
            found = _ADDRESS.search(envelope.input)
            if found is not None:
                self.addresses[envelope.name] = found.group().decode()
        if envelope.input[2:3] == b"$" and _BEYOND in envelope.input and envelope.name not in self.beyond:
            for path in type_trees.beyond_paths(envelope.input)[:1]:
                self.beyond[envelope.name] = path, f"{envelope.site}:{crossing.point.line}"
        for path in envelope.masked:
            self.masked[f"{envelope.name}: {path}"] = None
        return envelope

    def item(self, item: Item) -> list[bytes]:
        """Make of an item what is kept of it, and of those before it that waited for it."""
        return self._editor.item(item)

    def rest(self, seq: int) -> list[bytes]:
        """Return the items of a stream that ended which were held back."""
        return self._editor.rest(seq)

    def rests(self) -> dict[int, list[bytes]]:
        """Return the items that are held back, by the stream."""
        return self._editor.rests() if self._has_begun else {}

    def unanswered(self) -> tuple[Unanswered, ...]:
        """Return the tools that the model asked for and of which no crossing answered some call."""
        return self._editor.asking.unanswered() if self._has_begun else ()

    def answering(self) -> frozenset[str]:
        """Return the packs, and the project's rules, by which a call was answered; asked after `unanswered`."""
        return frozenset(self._editor.asking.answering)

    def site(self, point: Point) -> str:
        """Return where a woven definition stands, as envelopes say it."""
        site = self._sites.get(point)
        if site is None:
            project = self._project
            where = project.name(point.file) if project.owns(point.file) else point.module
            by_hand = "@" if point.rules and point.rules[0].id.startswith(("@", "wrap:")) else ""
            site = self._sites[point] = f"{by_hand}{where}:{point.qualname}"
        return site
