"""A watch over the program of a session: which of its calls are not determined by it, and what the rules say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autochron.detect.ignores import ignored
from autochron.detect.watch.watch import SourceWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from autochron.instrument.activation import Activation
    from autochron.model import Finding, Footer


class Watching:
    """Watches from `begin` to `end`."""

    def __init__(
        self, activation: Activation, problem: Callable[[str], None], is_inside: Callable[[], bool]
    ) -> None:
        """Take who is told what is wrong on our side, and what knows whether a replay would not run what runs now."""
        self._activation = activation
        project = activation.project
        values = activation.values
        self._is_own = values is None
        # One watch for both: two would stand in each other's place.
        self._watch = (
            SourceWatch(project.owns, project.name, problem, is_inside) if values is None else values.watch
        )

    def begin(self) -> None:
        """Begin to watch what is imported, and the rest as it is."""
        self._activation.hook.on_executed = self._watch.imported
        self._watch.forget()
        self._watch.on()

    def end(self) -> None:
        """Take every patch off, but for those by which ambient values are recorded: they stay as weaving does."""
        if self._is_own:
            self._activation.hook.on_executed = None
            self._watch.off()

    def findings(self) -> tuple[Finding, ...]:
        """Return what was found so far; what is meant to be there is marked."""
        return tuple(self._judged()[0])

    def stale(self) -> tuple[str, ...]:
        """Say what is wrong with ignores: a run does not come everywhere, so only what is gone from the source is."""
        return tuple(self._judged()[1])

    def new(self, footer: Footer | None) -> tuple[Finding, ...]:
        """Return what escapes in a replay and did not when the trace was recorded; nothing where nobody looked then."""
        if footer is None or not footer.watched:
            return ()
        known = {(each.site.file, each.site.hash, each.call) for each in footer.findings}
        return tuple(
            each
            for each in self.findings()
            if each.covered is None and (each.site.file, each.site.hash, each.call) not in known
        )

    def _judged(self) -> tuple[list[Finding], list[str]]:
        return ignored(self._watch.findings(), self._activation.rules, lambda _file: False)
