"""The last word of a recording, on its way to the sink."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from autochron.detect.merge import combined
from autochron.effects.footprints import first_reads, first_snapshots
from autochron.envelope import bodies
from autochron.model import (
    BoundaryRule,
    Child,
    Connection,
    FileRead,
    Finding,
    Footer,
    OutsideEffect,
    Secrets,
    Snapshot,
    Unwoven,
)
from autochron.session.children import Started, unmanaged_processes
from autochron.stdio.transcript import Said

if TYPE_CHECKING:
    from autochron.redaction.mask_key import MaskKey
    from autochron.redaction.redactor import Redactor


class Ending(Struct, frozen=True):
    """What is known when a session ends; the last word is made of it when all crossings are prepared.

    Not a closure: that is a dozen objects for each session, and a suite of tests may begin thousands a second.
    """

    status: int | None
    error: str | None
    said: Said
    ledger: tuple[Unwoven, ...]
    unmatched: list[tuple[BoundaryRule, str]]
    started: tuple[Started, ...]
    versions: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    credentials: tuple[str, ...]
    findings: tuple[Finding, ...] | None = None
    """None where nobody looked for any."""
    snapshots: tuple[Snapshot, ...] = ()
    reads: tuple[FileRead, ...] = ()
    effects: tuple[OutsideEffect, ...] = ()
    knows_effects: bool = False

    def footer(
        self,
        redactor: Redactor,
        come: list[Child],
        unwoven_tools: tuple[str, ...],
        declined_tools: tuple[str, ...],
        connections: Iterable[Connection],
        lost: int,
        mask_key: Callable[[], MaskKey | None],
    ) -> Footer:
        """Make the footer; `come` are the child processes that were recorded."""
        footers = [child.end.footer for child in come if child.end is not None]
        snapshots = first_snapshots([self.snapshots, *(each.snapshots for each in footers)])
        said = self.said
        stdout = redactor.mask_outcome(bodies.store_body(said.stdout, "text/plain"))[0]
        stdin = redactor.mask_outcome(bodies.store_body(said.stdin, "text/plain"))[0]
        matched = {rule for child in come if child.end is not None for rule in child.end.matched}
        return Footer(
            status=self.status,
            error=self.error,
            stdout=stdout,
            said=said.is_whole,
            unprinted=said.unprinted if _has_lines_of(stdout, said.stdout) else (),
            secrets=_secrets(said.stdout, stdout, mask_key),
            stderr=_stored(said.stderr, redactor),
            stdin=stdin,
            stdin_kind=said.stdin_kind,
            unwoven_tools=unwoven_tools,
            declined_tools=declined_tools,
            connections=tuple(connections),
            ledger=(
                *self.ledger,
                *_not_served(said, stdin),
                *_unmanaged_entries(self.started, {child.lane for child in come}),
                *(_unmatched(rule, why) for rule, why in self.unmatched if rule.id not in matched),
            ),
            versions=self.versions,
            environment=self.environment,
            credentials=self.credentials,
            lost=lost,
            watched=self.findings is not None,
            findings=combined([self.findings or (), *(each.findings for each in footers)]),
            snapshots=snapshots,
            reads=first_reads([self.reads, *(each.reads for each in footers)], snapshots),
            effects=_each_once([*self.effects, *(effect for each in footers for effect in each.effects)]),
            knows_effects=self.knows_effects,
        )


def _secrets(stdout: bytes, stored: bytes, mask_key: Callable[[], MaskKey | None]) -> Secrets | None:
    masked = bodies.restore_body(stored)
    key = None if masked == stdout else mask_key()
    return None if key is None else Secrets(key.id, tuple(key.line_digests(stdout, masked)))


def _stored(text: bytes | None, redactor: Redactor) -> bytes | None:
    return None if text is None else redactor.mask_outcome(bodies.store_body(text or b"\n", "text/plain"))[0]


def _not_served(said: Said, stdin: bytes) -> Iterator[Unwoven]:
    """Say what of standard input a replay does not give the program."""
    if bodies.restore_body(stdin) != said.stdin:
        yield Unwoven(
            "standard input", "a secret in it is masked, so a replay gives the program the mask", "masked"
        )
    if said.is_stdin_cut:
        yield Unwoven(
            "standard input", "more was read than is kept, so a replay gives the first 4 MB of it", "cut"
        )


def _has_lines_of(masked: bytes, stdout: bytes) -> bool:
    """Return whether masking has left the lines where they were: a key of several lines becomes one."""
    return bodies.restore_body(masked).count(b"\n") == stdout.count(b"\n")


def _each_once(effects: list[OutsideEffect]) -> tuple[OutsideEffect, ...]:
    """Return effects of several processes, each of a path once: what it holds in the end is the same for all."""
    found: dict[tuple[str, str], OutsideEffect] = {}
    for each in effects:
        found.setdefault((each.kind, each.what), each)
    return tuple(found.values())


def unmanaged_reason(place: str) -> str:
    """Return the reason in the ledger for a process that is not recorded."""
    return f"what it does is not recorded, and a replay starts it again (started at {place})"


def _unmanaged_entries(started: Iterable[Started], lanes: Collection[str]) -> list[Unwoven]:
    """Return the ledger's entries of the unmanaged processes, each once."""
    entries = [
        Unwoven(process.what, unmanaged_reason(process.place), "child-process")
        for process in unmanaged_processes(started, lanes)
    ]
    return list(dict.fromkeys(entries))


def _unmatched(rule: BoundaryRule, why: str) -> Unwoven:
    return Unwoven(str(rule.selector), f"{rule.place}: {why}", "rule-without-match")
