"""What keeps a replay from being evidence that a fix works: crashes, refusals, state that is missing, another input."""

from __future__ import annotations

from autochron.model import Envelope
from autochron.reproduction.case import Case
from autochron.reproduction.prints import is_below


def of_crossing(case: Case, address: str) -> list[str]:
    """Return what was seen of a live crossing by which it is no evidence."""
    seen, known = case.seen_at(address), case.usual_at(address)
    ignored = case.ignored_at(address)
    found: list[str] = []
    if seen.crash is not None and seen.crash.partition(":")[0].partition(",")[0] not in case.expected:
        found.append(
            f"{address} crashed, which is no refusal: {seen.crash}; mend it, or say in the test that this is the"
            f" answer: raises={seen.crash.partition(':')[0].partition(',')[0]}"
        )
    found += denied(case, address)
    found += [
        f"{each} holds something else than when the trace was recorded, and {address} read it; name it in a"
        " [[snapshot]] and record again"
        for each in seen.stale
    ]
    found += [f"{address} used state of which there is no snapshot: {each}" for each in seen.unkept]
    found += [
        f"{each} was open before the replay began, so {address} could not work on a copy; run it by replay.run()"
        for each in seen.opened_before
    ]
    usual = () if known is None else known.left_running
    found += [
        f"{address} left {each} at work, which may do later what it did in the incident; let it wait for that"
        for each in seen.left_running
        if each not in usual
    ]
    unlike = () if known is None else known.unlike_record
    found += [
        f"unchanged code doesn't show the incident: {address}.{path} is another there; name the file in a [[snapshot]]"
        " and record again"
        for path in unlike
        if not is_below(path, ignored)
    ]
    return [*found, *swallowed(case), *unchanged(case, address)]


def denied(case: Case, address: str) -> list[str]:
    """Return what a crossing was kept from."""
    return [each.message for each in case.divergences if each.kind == "denied" and each.address == address]


def swallowed(case: Case) -> list[str]:
    """Return the crashes that were caught, and are none that the test expects."""
    return [
        f"a crash was caught and passed over: {each}; if it is the right answer, say raises={each.partition(':')[0]}"
        for each in _new_crashes(case)
        if each.partition(":")[0] not in case.expected
    ]


def unchanged(case: Case, address: str) -> list[str]:
    """Return what to say where no code has changed, so that it is chance or the surroundings that went otherwise."""
    if case.changed_sources or case.swaps or (case.changed_sources is None and case.baseline is None):
        return []
    return [
        (
            f"{address} went otherwise although no source of the project has changed since the incident was made;"
            " what differs is its surroundings, or chance"
        )
    ]


def of_input(case: Case, envelope: Envelope) -> list[str]:
    """Return why the incident's input was not what a crossing was given."""
    own = [
        each
        for each in case.divergences
        if each.kind == "input" and each.address == envelope.address and each.severity != "consequence"
    ]
    found = [f"{each.message}; that is not the incident's input" for each in own if not case.changed_sources]
    return [*found, *earlier(case, envelope)]


def earlier(case: Case, envelope: Envelope) -> list[str]:
    """Return what went otherwise before a crossing, and before anything live had changed."""
    before = {
        each.recorded.address
        for each in case.replayed
        if each.recorded is not None and each.recorded.seq < envelope.seq
    }
    return [
        f"{each.message}; so what came after is not what the incident was"
        for each in case.divergences
        if each.kind == "input"
        and each.severity in {"error", "warning"}
        and each.address in before
        and each.address != envelope.address
    ][:1]


def why_not_fixed(case: Case) -> list[str]:
    """Return why a program that ends well now is no evidence that what made it fail is mended."""
    found = [f"a crash was caught and passed over: {each}" for each in _new_crashes(case)]
    found += [each.message for each in case.divergences if each.kind in {"denied", "network"}]
    if case.changed_sources is not None and not case.changed_sources and not case.swaps:
        found.append("no source of the project has changed since the incident was made")
    return found


def _new_crashes(case: Case) -> list[str]:
    """Return the crashes that the program caught itself and that unchanged code did not have."""
    known = set() if case.baseline is None else {_place_free(each) for each in case.baseline.swallowed}
    return [each for each in case.swallowed if _place_free(each) not in known]


def _place_free(crash: str) -> str:
    """Return a crash without its line, which moves with each edit."""
    return crash.rpartition(":")[0] if ", at " in crash else crash
