"""Reasons why a replay is no evidence that a fix works: crashes, denials, missing state, another input.

Each function returns messages for people.
"""

from __future__ import annotations

from autochron.model import Envelope
from autochron.reproduction.case import Case
from autochron.reproduction.prints import is_below


def of_crossing(case: Case, address: str) -> list[str]:
    """Return the reasons why a live crossing is no evidence."""
    evidence, baseline = case.evidence_at(address), case.baseline_at(address)
    ignored = case.ignored_at(address)
    reasons: list[str] = []
    if evidence.crash is not None and evidence.crash.partition(":")[0].partition(",")[0] not in case.expected:
        reasons.append(
            f"{address} crashed, which is no refusal: {evidence.crash}; mend it, or say in the test that this is the"
            f" answer: raises={evidence.crash.partition(':')[0].partition(',')[0]}"
        )
    reasons += denied(case, address)
    reasons += [
        f"{address} read {file}, which has changed since the trace was recorded; name it in a [[snapshot]] and record again"
        for file in evidence.stale
    ]
    reasons += [f"{address} used state of which there is no snapshot: {state}" for state in evidence.unkept]
    reasons += [
        f"{file} was open before the replay began, so {address} could not work on a copy; run it by replay.run()"
        for file in evidence.opened_before
    ]
    usual = () if baseline is None else baseline.left_running
    reasons += [
        f"{address} left {task} running, which may do later what the incident did; have {address} wait for it"
        for task in evidence.left_running
        if task not in usual
    ]
    unlike = () if baseline is None else baseline.unlike_record
    reasons += [
        f"unchanged code doesn't show the incident: its {address}.{path} is not the recorded one; name the file in a"
        " [[snapshot]] and record again"
        for path in unlike
        if not is_below(path, ignored)
    ]
    return [*reasons, *swallowed(case), *no_source_changed(case, address)]


def denied(case: Case, address: str) -> list[str]:
    """Return the messages of what a crossing tried and the replay denied."""
    return [
        divergence.message
        for divergence in case.divergences
        if divergence.kind == "denied" and divergence.address == address
    ]


def swallowed(case: Case) -> list[str]:
    """Return messages on new crashes that the program caught itself and that the test does not expect."""
    return [
        f"the program caught a crash itself: {crash}; if it is the right answer, say raises={crash.partition(':')[0]}"
        for crash in _new_crashes(case)
        if crash.partition(":")[0] not in case.expected
    ]


def no_source_changed(case: Case, address: str) -> list[str]:
    """Return a message if no source has changed: then the other behaviour comes from chance or the environment.

    There is another message if the baseline names no sources, so that this is not known.
    """
    if case.changed_sources or case.swaps or (case.changed_sources is None and case.baseline is None):
        return []
    if case.changed_sources is None:
        return [
            (
                f"{address} behaved differently, and it is not known whether a source of the project has changed since the"
                " incident was made, for its baseline names no sources; make the incident again with"
                " `autochron incident new --force`"
            )
        ]
    return [
        (
            f"{address} behaved differently although no source of the project has changed since the incident was made, so the"
            " difference comes from its environment or from chance"
        )
    ]


def of_input(case: Case, envelope: Envelope) -> list[str]:
    """Return the reasons why a crossing was not given the incident's input."""
    changes = [
        divergence
        for divergence in case.divergences
        if divergence.kind == "input"
        and divergence.address == envelope.address
        and divergence.severity != "consequence"
    ]
    reasons = [
        f"{divergence.message}; that is not the incident's input"
        for divergence in changes
        if not case.changed_sources
    ]
    return [*reasons, *changed_before(case, envelope)]


def changed_before(case: Case, envelope: Envelope) -> list[str]:
    """Return the first input change before a crossing that is no consequence of something live."""
    earlier = {
        replayed.recorded.address
        for replayed in case.replayed
        if replayed.recorded is not None and replayed.recorded.seq < envelope.seq
    }
    return [
        f"{divergence.message}; so the rest of the run is not that of the incident"
        for divergence in case.divergences
        if divergence.kind == "input"
        and divergence.severity in {"error", "warning"}
        and divergence.address in earlier
        and divergence.address != envelope.address
    ][:1]


def why_not_fixed(case: Case) -> list[str]:
    """Return the reasons why a program that no longer fails is no evidence of a fix."""
    reasons = [f"the program caught a crash itself: {crash}" for crash in _new_crashes(case)]
    reasons += [
        divergence.message for divergence in case.divergences if divergence.kind in {"denied", "network"}
    ]
    if not case.changed_sources and not case.swaps:
        if case.changed_sources is not None:
            reasons.append("no source of the project has changed since the incident was made")
        elif case.baseline is not None:
            reasons.append(
                "it is not known whether a source of the project has changed since the incident was made, for its baseline"
                " names no sources; make the incident again with `autochron incident new --force`"
            )
    return reasons


def _new_crashes(case: Case) -> list[str]:
    """Return the crashes that the program caught itself and that are not in the baseline."""
    known = set() if case.baseline is None else {_without_place(crash) for crash in case.baseline.swallowed}
    return [crash for crash in case.swallowed if _without_place(crash) not in known]


def _without_place(crash: str) -> str:
    """Return a crash's text without its line number, which changes with each edit."""
    return crash.rpartition(":")[0] if ", at " in crash else crash
