"""The tally of a recording: prepares its crossings for the store, and collects what the report says of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING

from autochron._runtime.lazy import late_modules
from autochron.crossing.crossing import Crossing
from autochron.model import Envelope
from autochron.project import Project
from autochron.recording.failed_call import error_of, is_same_failure
from autochron.redaction.redactor import Redactor
from autochron.weaving.gate import Point

if TYPE_CHECKING:
    from autochron.envelope import type_trees
    from autochron.model import FoundTool
    from autochron.recording import envelope_editor
    from autochron.recording.drafts import Draft, Item
    from autochron.recording.envelope_editor import Editor
    from autochron.recording.requested_tools import Unanswered
    from autochron.redaction.mask_key import MaskKey
else:
    late_modules(globals(), "autochron.envelope.type_trees", "autochron.recording.envelope_editor")

_ADDRESS = re.compile(rb"\bat 0x[0-9a-f]{6,16}\b")
"""The address in the default `repr` of an object: `<agent.Order object at 0x7f3c9c0d1e50>`."""

_BEYOND = b'"$beyond":true'
"""Marks the place in an input where it was cut because it is too large."""


class Tally:
    """Makes envelopes and items, and collects facts for the report; used by one thread, the one that writes.

    Attributes:
        counts: the number of crossings, by name.
        opaque: paths of parts that can't be rebuilt, each with the name of its crossing.
        by_type: paths of parts of inputs that are compared by type only.
        masked: paths of parts that were masked.
        failed: the last crossing that raised; where its parent raised the same exception, still that crossing.
        addresses: from the name of a crossing to the first memory address in its input.
        beyond: from the name of a crossing to the first path in its input that is too large to be compared, and its site.
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
        self.failed: Envelope | None = None
        self.addresses: dict[str, str] = {}
        self.beyond: dict[str, tuple[str, str]] = {}
        self._project = project
        self._sites: dict[Point, str] = {}
        self._make_editor: Callable[[], Editor] = lambda: envelope_editor.Editor(
            redactor, self.site, began, mask_key or (lambda: None)
        )

    @cached_property
    def _editor(self) -> Editor:
        """The editor; made with the first crossing."""
        return self._make_editor()

    def streams(self) -> Collection[int]:
        """Return the `seq` of each open stream that may hold items back."""
        return self._editor.streams if self._has_begun else ()

    @property
    def _has_begun(self) -> bool:
        return "_editor" in self.__dict__

    def envelope(self, crossing: Crossing[Draft], *, begun: bool = False) -> Envelope:
        """Make the envelope of a crossing, and count it; see `Editor.envelope` for `begun`."""
        envelope = self._editor.envelope(crossing, begun=begun)
        self.counts[envelope.name] = max(self.counts.get(envelope.name, 0), envelope.nth)
        for path in envelope.opaque:
            if path.startswith(envelope_editor.IN_INPUT):
                self.by_type[f"{envelope.name}.{path.removeprefix(envelope_editor.IN_INPUT)}"] = None
            else:
                self.opaque[f"{envelope.name}: {path}"] = None
        if b"0x" in envelope.input and envelope.name not in self.addresses:
            match = _ADDRESS.search(envelope.input)
            if match is not None:
                self.addresses[envelope.name] = match.group().decode()
        if envelope.input[2:3] == b"$" and _BEYOND in envelope.input and envelope.name not in self.beyond:
            for path in type_trees.beyond_paths(envelope.input)[:1]:
                self.beyond[envelope.name] = path, f"{envelope.site}:{crossing.point.line}"
        for path in envelope.masked:
            self.masked[f"{envelope.name}: {path}"] = None
        if error_of(envelope) is not None and (
            self.failed is None or not is_same_failure(self.failed, envelope)
        ):
            self.failed = envelope
        return envelope

    def item(self, item: Item) -> list[bytes]:
        """Mask one item of a stream; return the items that can be written now."""
        return self._editor.item(item)

    def rest(self, seq: int) -> list[bytes]:
        """Return the items that were held back of a stream that has ended."""
        return self._editor.rest(seq)

    def rests(self) -> dict[int, list[bytes]]:
        """Return the items that are held back, by the `seq` of their stream."""
        return self._editor.rests() if self._has_begun else {}

    def unanswered(self) -> tuple[Unanswered, ...]:
        """Return the tools that models asked for with a call that no crossing answers."""
        return self._editor.requested_tools.unanswered() if self._has_begun else ()

    def answering(self) -> frozenset[str]:
        """Return the packs, and the rules of the project, whose crossings answered calls; call `unanswered` first."""
        return frozenset(self._editor.requested_tools.answering)

    def found(self) -> tuple[FoundTool, ...]:
        """Return the found tools that crossed."""
        return self._editor.found_tools.found() if self._has_begun else ()

    def site(self, point: Point) -> str:
        """Return the site of a woven definition as envelopes name it, with `@` before it if no rule file wove it."""
        site = self._sites.get(point)
        if site is None:
            project = self._project
            where = project.name(point.file) if project.owns(point.file) else point.module
            by_hand = "@" if point.rules and point.rules[0].id.startswith(("@", "wrap:")) else ""
            site = self._sites[point] = f"{by_hand}{where}:{point.qualname}"
        return site
