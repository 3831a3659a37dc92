"""Judge a replay: whether what went wrong when its trace was recorded is reproduced, prevented, or neither is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from autochron._runtime.unpatched import os
from autochron.errors import ReproducedError
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
"""Exceptions that are a right answer, although by their type they look like a crash."""


class ReplayedBlock(NamedTuple):
    """What a replay came to so far.

    Attributes:
        session: what serves in this process.
        rerun: the process in which the program was replayed; None where it was in this one.
        crossings: its crossings, in order of start.
        divergences: where it and the record disagree.
    """

    session: Replaying
    rerun: Rerun | None
    crossings: Crossings
    divergences: tuple[Divergence, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What was seen of the live crossings."""
        return self.session.gather_evidence() if self.rerun is None else self.rerun.summary.evidence

    @property
    def swallowed(self) -> tuple[str, ...]:
        """The crashes that the project's code caught itself."""
        return self.session.swallowed() if self.rerun is None else self.rerun.summary.swallowed

    def observation(self) -> Observation:
        """Return what was seen of live crossings."""
        from autochron.reproduction.observation import observe  # lazy: for who makes an incident

        sources = self.session.sources() if self.rerun is None else self.rerun.summary.sources
        live = [each.replayed.envelope for each in self.crossings if each.live and each.recorded is not None]
        return observe(live, {each.address: each for each in self.evidence}, sources, self.swallowed)


class IncidentJudge:
    """Judges one replay, and remembers the last verdict: what follows from a prevented incident is no divergence."""

    def __init__(
        self, reference: str | os.PathLike[str] | None, volatile: Mapping[str, Sequence[str]], *, swaps: bool
    ) -> None:
        """Take where the trace is, beside which its baseline is looked for; None for a trace that is no file.

        Args:
            volatile: fields of outcomes that tell nothing, by address.
            swaps: whether functions run in the place of others.
        """
        self._reference = reference
        self._volatile = volatile
        self._swaps = swaps
        self._verdict: Verdict | None = None
        self._expected: set[str] = set()
        """Types of the exceptions that the last verdict took for a right answer."""

    def forget(self) -> None:
        """Forget the last verdict: the replay begins again."""
        self._verdict = None

    def verdict(self, replayed: ReplayedBlock, addresses: Sequence[str], raises: Raises) -> Verdict:
        """Return the verdict on the crossings of these addresses, by default on all that are live.

        Raises:
            NotCrossedError: the record has no such crossing.
        """
        from autochron.diagnostics.incident_check import wanted_of  # lazy: compiles source to find lines
        from autochron.reproduction.verdict import judge

        session = replayed.session
        wanted = wanted_of(session.record, session.plan, addresses)
        self._expected = {each.__qualname__ for each in _as_tuple(raises)}
        self._verdict = judge(wanted, self._case(replayed, raises))
        return self._verdict

    def refuse_unless_prevented(
        self, replayed: ReplayedBlock, addresses: Sequence[str], raises: Raises, caller: str
    ) -> None:
        """Raise unless what went wrong is prevented; `caller` is the line of the test that asks.

        Raises:
            ReproducedError: it happened again.
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
        """Collect what a verdict rests on."""
        from autochron.diagnostics.recorded_sites import is_gone, misfit  # lazy: as above
        from autochron.reproduction.baseline import digests_of, read_baseline
        from autochron.reproduction.case import Case

        root = replayed.session.activation.rules.root or os.getcwd()
        baseline = None if self._reference is None else read_baseline(self._reference)
        changed = None
        if baseline is not None and baseline.sources:
            now = digests_of(root, baseline.sources)
            changed = [each for each, digest in baseline.sources.items() if now[each] != digest]
        return Case(
            replayed=[each.replayed for each in replayed.crossings],
            divergences=replayed.divergences,
            evidence={each.address: each for each in replayed.evidence},
            baseline=baseline,
            changed_sources=changed,
            swallowed=replayed.swallowed,
            broke=None if replayed.rerun is None else replayed.rerun.summary.broke,
            volatile=self._volatile,
            expected=[each.__name__ for each in _as_tuple(raises)],
            swaps=self._swaps,
            gone=lambda envelope: is_gone(root, envelope.site),
            misfit=lambda envelope: misfit(root, envelope),
        )

    def still_did(self) -> list[str]:
        """Return in words what live crossings did, where the verdict is that the incident is prevented."""
        from autochron.reproduction.outcomes import shown  # lazy: for tests

        verdict = self._verdict
        if verdict is None or verdict.kind != "prevented":
            return []
        return [f"still did this: {shown(each)}" for each in verdict.effects]

    def unexplained(self, replayed: ReplayedBlock) -> list[Divergence]:
        """Return the errors among the divergences, without those that follow from the incident's being prevented."""
        errors = [each for each in replayed.divergences if each.severity == "error"]
        verdict = self._verdict
        if verdict is None or verdict.kind != "prevented":
            return errors
        first = min(each.envelope.seq for each in verdict.crossings if each.kind == "prevented")
        return [each for each in errors if not self._follows(replayed, each, first)]

    def _follows(self, replayed: ReplayedBlock, divergence: Divergence, first: int) -> bool:
        """Return whether a divergence comes of the fix: what happened after it, or the refusal by which the program ended."""
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
    """Raise where the traced call raised what it raised when it was recorded, and a framework answered for it."""
    __tracebackhide__ = True
    footer, calls = session.record.footer, session.calls
    error = calls.ended[-1] if calls is not None and calls.ended else None
    if error is not None and footer is not None and type(error).__qualname__ == footer.error:
        raise ReproducedError(
            f"the call of {session.record.header.command.target} raised again what it raised in the incident:"
            f" {type(error).__name__}: {error}; the fix goes where this comes from; then say in {caller} what should"
            " happen, in the place of this check"
        ) from error
