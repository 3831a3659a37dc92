"""Judge a replay: find out whether the incident is reproduced or prevented, or whether neither is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from autochron._runtime.unpatched import os
from autochron.errors import ReproducedError, UsageError
from autochron.replaying.plan import split_address

if TYPE_CHECKING:
    from autochron.model import Divergence, Evidence
    from autochron.reproduction.case import Case
    from autochron.reproduction.observation import Observation
    from autochron.reproduction.verdict import Verdict
    from autochron.session.replayed_view import Crossings
    from autochron.session.replaying import Replaying
    from autochron.session.subprocess_replay import Rerun

Raises: TypeAlias = "type[BaseException] | tuple[type[BaseException], ...]"
"""Exceptions that are a right answer, although their type looks like that of a crash."""


_FIELD = re.compile(r"(.+\[\d+\])\.((?:outcome|changed)(?:\..+)?)")


def volatile_fields(fields: Iterable[str]) -> dict[str, list[str]]:
    """Return fields of outcomes, by the address of their crossing.

    Raises:
        UsageError: a text names no field of an outcome.
    """
    by_address: dict[str, list[str]] = {}
    for field in [fields] if isinstance(fields, str) else fields:
        match = _FIELD.fullmatch(str(field))
        if match is None:
            raise UsageError(
                f'volatile={field!r}: it is a field of an outcome, such as "issue_refund[1].outcome.id"'
            )
        by_address.setdefault(match[1], []).append(match[2])
    return by_address


class ReplayedBlock(NamedTuple):
    """The results of a replay so far.

    Attributes:
        session: the session that serves in this process.
        rerun: the process in which the program was replayed; None if it was replayed in this one.
        crossings: the crossings of the replay, in order of start.
        divergences: where replay and record disagree.
    """

    session: Replaying
    rerun: Rerun | None
    crossings: Crossings
    divergences: tuple[Divergence, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What was observed of the live crossings."""
        return self.session.gather_evidence() if self.rerun is None else self.rerun.summary.evidence

    @property
    def swallowed(self) -> tuple[str, ...]:
        """The crashes that the project's code caught itself."""
        return self.session.swallowed() if self.rerun is None else self.rerun.summary.swallowed

    def observation(self) -> Observation:
        """Return what was observed of the live crossings, as the baseline of an incident keeps it."""
        from autochron.reproduction.observation import observe  # lazy: only making an incident needs it

        sources = self.session.sources() if self.rerun is None else self.rerun.summary.sources
        live = [
            crossing.replayed.envelope
            for crossing in self.crossings
            if crossing.live and crossing.recorded is not None
        ]
        evidence = {crossing_evidence.address: crossing_evidence for crossing_evidence in self.evidence}
        return observe(live, evidence, sources, self.swallowed)


class IncidentJudge:
    """Judges one replay, and keeps the last verdict: the consequences of a prevented incident are no divergences."""

    def __init__(
        self, reference: str | os.PathLike[str] | None, volatile: Mapping[str, Sequence[str]], *, swaps: bool
    ) -> None:
        """Make one.

        Args:
            reference: path of the trace, beside which the baseline is; None if the trace is no file.
            volatile: fields of outcomes that differ in each run, by address.
            swaps: whether the replay swaps functions.
        """
        self._reference = reference
        self._volatile = volatile
        self._swaps = swaps
        self._verdict: Verdict | None = None
        self._expected: set[str] = set()
        """Names of the exception types that the last verdict accepted as a right answer."""

    def forget(self) -> None:
        """Forget the last verdict, because the replay begins again."""
        self._verdict = None

    def verdict(self, replayed: ReplayedBlock, addresses: Sequence[str], raises: Raises) -> Verdict:
        """Return the verdict on some crossings.

        Args:
            replayed: the results of the replay.
            addresses: the crossings; if empty, all live ones.
            raises: exceptions that are a right answer.

        Raises:
            NotCrossedError: the record has no such crossing.
        """
        from autochron.diagnostics.incident_check import wanted_of  # lazy: compiles source to find lines
        from autochron.reproduction.verdict import judge

        session = replayed.session
        envelopes = wanted_of(session.record, session.plan, addresses)
        self._expected = {exception_type.__qualname__ for exception_type in _as_tuple(raises)}
        self._verdict = judge(envelopes, self._case(replayed, raises))
        return self._verdict

    def refuse_unless_prevented(
        self, replayed: ReplayedBlock, addresses: Sequence[str], raises: Raises, caller: str
    ) -> None:
        """Raise unless the incident is prevented.

        Args:
            replayed: the results of the replay.
            addresses: the crossings; if empty, all live ones.
            raises: exceptions that are a right answer.
            caller: file and line of the test that calls.

        Raises:
            ReproducedError: the incident is reproduced.
            InconclusiveError: neither is known.
            NotCrossedError: the record has no such crossing.
        """
        __tracebackhide__ = True
        from autochron.diagnostics import incident_check  # lazy: as above

        session = replayed.session
        if not addresses and incident_check.has_failed(session.record):
            case = self._case(replayed, raises)
            incident_check.refuse_failure(session.record, replayed.rerun, case, caller)
            _refuse_raised_again(session, caller)
        else:
            verdict = self.verdict(replayed, addresses, raises)
            incident_check.refuse_unless_prevented(verdict, session.activation.rules.root, caller)

    def _case(self, replayed: ReplayedBlock, raises: Raises) -> Case:
        """Collect the facts that a verdict rests on."""
        from autochron.diagnostics.recorded_sites import is_gone, misfit  # lazy: as above
        from autochron.reproduction.baseline import digests_of, read_baseline
        from autochron.reproduction.case import Case

        root = replayed.session.activation.rules.root or os.getcwd()
        baseline = None if self._reference is None else read_baseline(self._reference)
        changed = None
        if baseline is not None and baseline.sources:
            digests = digests_of(root, baseline.sources)
            changed = [path for path, digest in baseline.sources.items() if digests[path] != digest]
        return Case(
            replayed=[crossing.replayed for crossing in replayed.crossings],
            divergences=replayed.divergences,
            evidence={evidence.address: evidence for evidence in replayed.evidence},
            baseline=baseline,
            changed_sources=changed,
            swallowed=replayed.swallowed,
            broke=None if replayed.rerun is None else replayed.rerun.summary.broke,
            ended="" if replayed.rerun is None else _ending_of(replayed.rerun),
            volatile=self._volatile,
            expected=[exception_type.__name__ for exception_type in _as_tuple(raises)],
            swaps=self._swaps,
            gone=lambda envelope: is_gone(root, envelope.site),
            misfit=lambda envelope: misfit(root, envelope),
        )

    def still_did(self) -> list[str]:
        """Return messages of what live crossings still did, if the verdict is that the incident is prevented."""
        from autochron.reproduction.outcomes import shown  # lazy: only tests need it

        verdict = self._verdict
        if verdict is None or verdict.kind != "prevented":
            return []
        return [f"still did this: {shown(effect)}" for effect in verdict.effects]

    def unexplained(self, replayed: ReplayedBlock) -> list[Divergence]:
        """Return the divergences that are errors and no consequence of the incident's being prevented."""
        errors = [divergence for divergence in replayed.divergences if divergence.severity == "error"]
        verdict = self._verdict
        if verdict is None or verdict.kind != "prevented":
            return errors
        first = min(crossing.envelope.seq for crossing in verdict.crossings if crossing.kind == "prevented")
        return [error for error in errors if not self._follows(replayed, error, first)]

    def _follows(self, replayed: ReplayedBlock, divergence: Divergence, first: int) -> bool:
        """Return whether a divergence is a consequence of the fix.

        That is one of a later crossing, or the exit status if the program ended by a refusal. `first` is the sequence
        number of the first prevented crossing.
        """
        if divergence.kind == "status":
            return self._has_refused(replayed.rerun)
        if divergence.kind not in {"missing", "input"}:
            return False
        parts = split_address(divergence.address)
        envelope = None if parts is None else replayed.session.record.find(*parts)
        return envelope is not None and envelope.seq >= first

    def _has_refused(self, rerun: Rerun | None) -> bool:
        """Return whether the program ended by an exception that is a refusal, or an expected one."""
        if rerun is None or rerun.summary.uncaught is None:
            return False
        return rerun.summary.broke is None or rerun.summary.uncaught in self._expected


def _as_tuple(raises: Raises) -> tuple[type[BaseException], ...]:
    return raises if isinstance(raises, tuple) else (raises,)


def _refuse_raised_again(session: Replaying, caller: str) -> None:
    """Raise if the traced call raised the recorded exception again, and a framework answered for it."""
    __tracebackhide__ = True
    footer, calls = session.record.footer, session.calls
    error = calls.ended[-1] if calls is not None and calls.ended else None
    if error is not None and footer is not None and type(error).__qualname__ == footer.error:
        raise ReproducedError(
            f"the call of {session.record.header.command.target} raised again what it raised in the incident:"
            f" {type(error).__name__}: {error}; the fix goes where this comes from; then say in {caller} what should"
            " happen, in the place of this check"
        ) from error


def _ending_of(rerun: Rerun) -> str:
    """Describe how a program ended: its status, and the last line that it wrote to standard error."""
    own, _, _ = f"\n{rerun.stderr}".partition("\nautochron: ")  # the report of the replay follows
    said = (own.strip().splitlines() or [""])[-1].strip()
    return f"ended with status {rerun.status}" + (f": {said[:300]}" if said else "")
