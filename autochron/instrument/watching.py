"""Watch the program of a session for non-deterministic calls, and judge them by the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autochron.detect.ignores import ignored
from autochron.detect.project_sources import all_sources
from autochron.detect.watch.watch import SourceWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from autochron.detect.watch.value_probes import ValueProbes
    from autochron.instrument.activation import Activation
    from autochron.model import Finding, Footer


class Watching:
    """Watches from `begin` to `end`."""

    def __init__(
        self, activation: Activation, problem: Callable[[str], None], is_inside: Callable[[], bool]
    ) -> None:
        """Make one.

        Args:
            activation: the rules in force, and the project.
            problem: called with a message if something is wrong on our side.
            is_inside: returns whether the running code is inside a crossing whose body a replay would not run.
        """
        self._activation = activation
        self._is_inside = is_inside
        self._probes: ValueProbes | None = None
        """Looks at values; None if nobody asked for that."""
        project = activation.project
        values = activation.values
        self._is_own = values is None
        # Ambient values use the same watch, since two would patch over each other.
        self._watch = (
            SourceWatch(project.owns, project.name, problem, is_inside) if values is None else values.watch
        )

    def begin(self) -> None:
        """Begin to watch calls, also in modules that are imported later."""
        self._activation.hook.on_executed = self._watch.imported
        self._watch.forget()
        self._watch.on(sources=all_sources(self._activation.rules))

    def probe(self) -> None:
        """Look at the values of the project's own expressions in modules that are loaded from now on."""
        from autochron.detect.watch.value_probes import ValueProbes  # lazy: it imports the scan

        project = self._activation.project
        self._probes = ValueProbes(project.owns, project.name, self._is_inside)
        self._probes.begin()
        self._activation.replace_code(self._probes.code, None)

    def end(self) -> None:
        """Remove all patches. Those by which ambient values are recorded stay, as weaving does."""
        if self._is_own:
            self._activation.hook.on_executed = None
            self._watch.off()

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings so far. Those that a rule expects are marked."""
        return tuple(self._judged()[0])

    def stale(self) -> tuple[str, ...]:
        """Return a message for each ignore whose line is gone from the source, and for each source that names nothing.

        Others are not reported: a run doesn't reach all lines.
        """
        messages = self._judged()[1]
        if self._activation.rules.sources:
            from autochron.detect.stale_sources import stale_sources  # lazy: few rule files have a [[source]]

            messages += stale_sources(self._activation.rules)
        return tuple(messages)

    def new(self, footer: Footer | None) -> tuple[Finding, ...]:
        """Return the findings of a replay that were none in the recording; none if nobody looked for them then."""
        if footer is None or not footer.watched:
            return ()
        recorded = {(finding.site.file, finding.site.hash, finding.call) for finding in footer.findings}
        return tuple(
            finding
            for finding in self.findings()
            if finding.covered is None
            and (finding.site.file, finding.site.hash, finding.call) not in recorded
        )

    def _judged(self) -> tuple[list[Finding], list[str]]:
        seen = self._watch.findings()
        if self._probes is not None:
            seen = sorted(
                [*seen, *self._probes.findings()],
                key=lambda finding: (finding.site.file, finding.site.line, finding.call, finding.via or ""),
            )
        return ignored(seen, self._activation.rules, lambda _file: False)
