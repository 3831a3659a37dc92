"""The footer of a trace, which the session makes when it ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from autochron.detect.merge import combined
from autochron.effects.footprints import first_reads, first_snapshots
from autochron.envelope import bodies
from autochron.model import (
    NOT_CALLED,
    BoundaryRule,
    Child,
    Connection,
    FileRead,
    Finding,
    Footer,
    FoundTool,
    OutsideEffect,
    Secrets,
    Snapshot,
    Unwoven,
)
from autochron.session.children import StartedProcess, unmanaged_processes
from autochron.stdio.transcript import Transcript

if TYPE_CHECKING:
    from autochron.redaction.mask_key import MaskKey
    from autochron.redaction.redactor import Redactor


class Ending(Struct, frozen=True):
    """The facts that are known when a session ends. The footer is made of them once all crossings are prepared.

    Not a closure: that is a dozen objects for each session, and a suite of tests may begin thousands a second.

    Attributes:
        status: exit status of the program.
        error: type of the exception that ended the block.
        transcript: what went through the standard streams.
        ledger: what is not in the trace, and why.
        unmatched: rules that fit nothing, each with the reason.
        started: the processes that the program started.
        findings: non-deterministic calls; None where nobody looked for any.
        knows_effects: whether effects outside every boundary were noted at all.
    """

    status: int | None
    error: str | None
    transcript: Transcript
    ledger: tuple[Unwoven, ...]
    unmatched: list[tuple[BoundaryRule, str]]
    started: tuple[StartedProcess, ...]
    versions: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    credentials: tuple[str, ...]
    findings: tuple[Finding, ...] | None = None
    snapshots: tuple[Snapshot, ...] = ()
    reads: tuple[FileRead, ...] = ()
    effects: tuple[OutsideEffect, ...] = ()
    knows_effects: bool = False

    def footer(
        self,
        redactor: Redactor,
        joined: list[Child],
        unwoven_tools: tuple[str, ...],
        declined_tools: tuple[str, ...],
        output_forms: tuple[str, ...],
        found_tools: tuple[FoundTool, ...],
        connections: Iterable[Connection],
        lost: int,
        mask_key: Callable[[], MaskKey | None],
    ) -> Footer:
        """Make the footer.

        Args:
            redactor: masks the standard streams.
            joined: the child processes that were recorded.
            unwoven_tools: tools with a call that no crossing answers, which may have run unwoven.
            declined_tools: tools with a call that no crossing answers, because the program declined it.
            output_forms: tools with a call that no crossing answers, because they are types of data.
            found_tools: the found tools that crossed.
            connections: connections outside every boundary.
            lost: how many crossings are not in the store.
            mask_key: returns the user's key for masks.
        """
        footers = [child.end.footer for child in joined if child.end is not None]
        snapshots = first_snapshots([self.snapshots, *(footer.snapshots for footer in footers)])
        transcript = self.transcript
        stdout = redactor.mask_outcome(bodies.store_body(transcript.stdout, "text/plain"))[0]
        stdin = redactor.mask_outcome(bodies.store_body(transcript.stdin, "text/plain"))[0]
        matched = {rule for child in joined if child.end is not None for rule in child.end.matched}
        return Footer(
            status=self.status,
            error=self.error,
            stdout=stdout,
            said=transcript.is_whole,
            unprinted=transcript.unprinted if _has_lines_of(stdout, transcript.stdout) else (),
            secrets=_secrets(transcript.stdout, stdout, mask_key),
            stderr=_stored(transcript.stderr, redactor),
            stdin=stdin,
            stdin_kind=transcript.stdin_kind,
            unwoven_tools=unwoven_tools,
            declined_tools=declined_tools,
            output_forms=output_forms,
            found_tools=found_tools,
            connections=tuple(connections),
            ledger=(
                *_that_count(self.ledger, unwoven_tools),
                *_not_served(transcript, stdin),
                *_unmanaged_entries(self.started, {child.lane for child in joined}),
                *(_unmatched(rule, reason) for rule, reason in self.unmatched if rule.id not in matched),
            ),
            versions=self.versions,
            environment=self.environment,
            credentials=self.credentials,
            lost=lost,
            watched=self.findings is not None,
            findings=combined([self.findings or (), *(footer.findings for footer in footers)]),
            snapshots=snapshots,
            reads=first_reads([self.reads, *(footer.reads for footer in footers)], snapshots),
            effects=_each_once([*self.effects, *(effect for footer in footers for effect in footer.effects)]),
            knows_effects=self.knows_effects,
        )


def _that_count(ledger: Iterable[Unwoven], unwoven_tools: Iterable[str]) -> Iterator[Unwoven]:
    """Yield the entries of a ledger; those on functions that did not run only if nothing answered their tool."""
    unwoven = {label.partition(" (")[0] for label in unwoven_tools}
    return (entry for entry in ledger if entry.slug != NOT_CALLED or entry.what in unwoven)


def _secrets(stdout: bytes, stored: bytes, mask_key: Callable[[], MaskKey | None]) -> Secrets | None:
    masked = bodies.restore_body(stored)
    key = None if masked == stdout else mask_key()
    return None if key is None else Secrets(key.id, tuple(key.line_digests(stdout, masked)))


def _stored(text: bytes | None, redactor: Redactor) -> bytes | None:
    return None if text is None else redactor.mask_outcome(bodies.store_body(text or b"\n", "text/plain"))[0]


def _not_served(transcript: Transcript, stdin: bytes) -> Iterator[Unwoven]:
    """Yield an entry for each part of standard input that a replay does not give to the program."""
    if bodies.restore_body(stdin) != transcript.stdin:
        yield Unwoven(
            "standard input", "a secret in it is masked, so a replay gives the program the mask", "masked"
        )
    if transcript.is_stdin_cut:
        yield Unwoven(
            "standard input", "more was read than is kept, so a replay gives the first 4 MB of it", "cut"
        )


def _has_lines_of(masked: bytes, stdout: bytes) -> bool:
    """Return whether masking has kept the number of lines: a secret of several lines becomes one."""
    return bodies.restore_body(masked).count(b"\n") == stdout.count(b"\n")


def _each_once(effects: list[OutsideEffect]) -> tuple[OutsideEffect, ...]:
    """Return the effects of several processes, each kind and path once: the final content is the same for all."""
    by_path: dict[tuple[str, str], OutsideEffect] = {}
    for effect in effects:
        by_path.setdefault((effect.kind, effect.what), effect)
    return tuple(by_path.values())


def unmanaged_reason(place: str) -> str:
    """Return the reason for the ledger's entry of a child process that did not join."""
    return f"what it does is not recorded, and a replay starts it again (started at {place})"


def _unmanaged_entries(started: Iterable[StartedProcess], lanes: Collection[str]) -> list[Unwoven]:
    """Return an entry for each process that was started and did not join; `lanes` are those of the joined ones."""
    entries = [
        Unwoven(process.description, unmanaged_reason(process.place), "child-process")
        for process in unmanaged_processes(started, lanes)
    ]
    return list(dict.fromkeys(entries))


def _unmatched(rule: BoundaryRule, reason: str) -> Unwoven:
    return Unwoven(str(rule.selector), f"{rule.place}: {reason}", "rule-without-match")
