r"""The numbers of a mutation study as LaTeX macros.

`\mutantsTotal`, `\mutantsKilledCP`, `\mutantsKilledFS`, `\mutantsSurvivedCP` and `\mutationScoreCP` have the names that
the paper's own sources use. The other methods have names alike: MK mocks, TW with-twin, ED with-edges, OP full-output, WD
widened. The paper's `\surv...` macros group survivors by their line. The macros here group them by behaviour, so they have
other names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import get_args

from autochron.mutate.model import Behaviour, Result, Study, written
from autochron.mutate.report import tallies
from autochron.mutate.report.tallies import CUT_POINT, KINDS

ABBREVIATIONS = {
    "full-stub": "FS",
    "mocks": "MK",
    "cut-point": "CP",
    "with-twin": "TW",
    "with-edges": "ED",
    "full-output": "OP",
    "widened": "WD",
}
"""The part of a macro's name that stands for a method."""

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def tex_macros(study: Study) -> str:
    """Return the macros, one in each line.

    Raises:
        UsageError: a canary does not hold.
    """
    tallies.check(study)
    lines = [f"\\newcommand{{\\{name}}}{{{escaped(value)}}}" for name, value in _macros(study)]
    return "\n".join(["% Made by autochron mutate", *lines]) + "\n"


def escaped(text: str) -> str:
    """Return a text with LaTeX's special characters escaped."""
    return re.sub(r"[\\~^%&#_${}]", lambda match: _SPECIAL.get(match[0], f"\\{match[0]}"), text)


def _macros(study: Study) -> Iterator[tuple[str, str]]:
    results = tallies.all_results(study)
    generated, same_bytecode, duplicates, tried = tallies.counted_generated(study.incidents)
    yield "mutationOperators", study.operators
    yield "mutationIncidents", str(len(study.incidents))
    yield "mutantsGenerated", str(generated)
    yield "mutantsSameBytecode", str(same_bytecode)
    yield "mutantsDuplicates", str(duplicates)
    yield "mutantsTotal", str(tried)
    yield "mutantsEquivalent", str(sum(map(tallies.is_equivalent, results)))
    yield "mutantsUnsafe", str(sum(result.is_unsafe for result in results))
    if CUT_POINT in study.methods:
        yield "mutantsEscaped", str(sum(map(tallies.is_escape, results)))
    sample = [crosscheck for incident in study.incidents for crosscheck in incident.agreement]
    yield "mutationSample", str(len(sample))
    yield "mutationSampleAgrees", str(sum(crosscheck.ours == crosscheck.theirs for crosscheck in sample))
    yield from _methods(study, results)
    yield from _survivors(results)
    for incident, word in zip(
        study.incidents, distinct_words([incident.name for incident in study.incidents]), strict=True
    ):
        yield f"mutantsTotalOf{word}", str(len(incident.results))
        for method in study.methods:
            yield (
                f"mutantsKilled{_abbreviation(method)}Of{word}",
                str(tallies.tally(incident.results, method).killed),
            )


def _methods(study: Study, results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    not_equivalent = [result for result in results if not tallies.is_equivalent(result)]
    for method in study.methods:
        abbreviation = _abbreviation(method)
        count = tallies.tally(results, method)
        yield f"mutantsKilled{abbreviation}", str(count.killed)
        yield f"mutantsSurvived{abbreviation}", str(count.tried - count.killed)
        low, high = tallies.interval(results, method) or (None, None)
        yield f"mutationScore{abbreviation}", _number(count.percent)
        yield f"mutationScoreLow{abbreviation}", _number(low)
        yield f"mutationScoreHigh{abbreviation}", _number(high)
        yield f"mutationScoreReal{abbreviation}", _number(tallies.tally(not_equivalent, method).percent)
        counts = tallies.kinds(results, method)
        for kind in KINDS:
            yield f"mutantsKilled{abbreviation}By{_camel(kind)}", str(counts[kind])


def _survivors(results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Yield the numbers of the survivors of the folder's own tests, by behaviour."""
    counts = Counter(
        result.behaviour for result in results if tallies.survives(result, written(result.verdicts))
    )
    for behaviour in get_args(Behaviour):
        yield f"survivors{_camel(behaviour)}", str(counts[behaviour])


def _abbreviation(method: str) -> str:
    return ABBREVIATIONS.get(method) or _camel(method)


def _camel(name: str) -> str:
    """Return a name in letters only, as LaTeX needs it: `stale_quote2` becomes `StaleQuoteTwo`."""
    spelled = re.sub("[0-9]", lambda match: f" {_DIGITS[int(match[0])]} ", name)
    return "".join(part[:1].upper() + part[1:] for part in re.split("[^A-Za-z]+", spelled))


def distinct_words(names: Sequence[str]) -> list[str]:
    """Return a word for each name, no two of them equal: after `AB`, the name `A-b` becomes `ABX`."""
    taken: set[str] = set()
    distinct = []
    for name in names:
        word = _camel(name) or "X"
        while word in taken:
            word += "X"
        taken.add(word)
        distinct.append(word)
    return distinct


def _number(value: float | None) -> str:
    return "--" if value is None else f"{value:.1f}"
