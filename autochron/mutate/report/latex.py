r"""The numbers of a mutation study as LaTeX macros.

`\mutantsTotal`, `\mutantsKilledCP`, `\mutantsKilledFS`, `\mutantsSurvivedCP` and `\mutationScoreCP` are what the paper's
own sources call them; the other methods follow: MK mocks, OP full-output, WD widened. The paper's `\surv...` macros sort
survivors by their line; these sort them by what they do, and so have names of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import get_args

from autochron.mutate.model import Behaviour, Result, Study
from autochron.mutate.report import tallies
from autochron.mutate.report.tallies import CUT_POINT, KINDS

SHORT = {"full-stub": "FS", "mocks": "MK", "cut-point": "CP", "full-output": "OP", "widened": "WD"}

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def tex_macros(study: Study) -> str:
    """Write the macros, a line each.

    Raises:
        UsageError: where the canaries don't hold.
    """
    tallies.check(study)
    lines = [f"\\newcommand{{\\{name}}}{{{escaped(value)}}}" for name, value in _macros(study)]
    return "\n".join(["% Made by autochron mutate", *lines]) + "\n"


def escaped(text: str) -> str:
    """Write a text as LaTeX."""
    return re.sub(r"[\\~^%&#_${}]", lambda found: _SPECIAL.get(found[0], f"\\{found[0]}"), text)


def _macros(study: Study) -> Iterator[tuple[str, str]]:
    everything = tallies.all_results(study)
    generated, same, duplicates, tried = tallies.counted_generated(study.incidents)
    yield "mutationOperators", study.operators
    yield "mutationIncidents", str(len(study.incidents))
    yield "mutantsGenerated", str(generated)
    yield "mutantsSameBytecode", str(same)
    yield "mutantsDuplicates", str(duplicates)
    yield "mutantsTotal", str(tried)
    yield "mutantsEquivalent", str(sum(map(tallies.is_equivalent, everything)))
    yield "mutantsUnsafe", str(sum(result.is_unsafe for result in everything))
    if CUT_POINT in study.methods:
        yield "mutantsEscaped", str(sum(map(tallies.is_escape, everything)))
    sample = [each for incident in study.incidents for each in incident.agreement]
    yield "mutationSample", str(len(sample))
    yield "mutationSampleAgrees", str(sum(each.ours == each.theirs for each in sample))
    yield from _methods(study, everything)
    yield from _survivors(everything)
    for incident, word in zip(study.incidents, words([each.name for each in study.incidents]), strict=True):
        yield f"mutantsTotalOf{word}", str(len(incident.results))
        for method in study.methods:
            yield (
                f"mutantsKilled{_short(method)}Of{word}",
                str(tallies.tally(incident.results, method).killed),
            )


def _methods(study: Study, everything: Sequence[Result]) -> Iterator[tuple[str, str]]:
    real = [result for result in everything if not tallies.is_equivalent(result)]
    for method in study.methods:
        short = _short(method)
        found = tallies.tally(everything, method)
        yield f"mutantsKilled{short}", str(found.killed)
        yield f"mutantsSurvived{short}", str(found.tried - found.killed)
        low, high = found.interval or (None, None)
        yield f"mutationScore{short}", _number(found.percent)
        yield f"mutationScoreLow{short}", _number(low)
        yield f"mutationScoreHigh{short}", _number(high)
        yield f"mutationScoreReal{short}", _number(tallies.tally(real, method).percent)
        counts = tallies.kinds(everything, method)
        for kind in KINDS:
            yield f"mutantsKilled{short}By{_camel(kind)}", str(counts[kind])


def _survivors(everything: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Count the survivors of cut-point by what they do."""
    counts = Counter(each.behaviour for each in everything if tallies.survives(each, CUT_POINT))
    for behaviour in get_args(Behaviour):
        yield f"survivors{_camel(behaviour)}", str(counts[behaviour])


def _short(method: str) -> str:
    return SHORT.get(method) or _camel(method)


def _camel(name: str) -> str:
    """Write a name in letters alone, for LaTeX takes nothing else: `stale_quote2` is `StaleQuoteTwo`."""
    spelled = re.sub("[0-9]", lambda found: f" {_DIGITS[int(found[0])]} ", name)
    return "".join(part[:1].upper() + part[1:] for part in re.split("[^A-Za-z]+", spelled))


def words(names: Sequence[str]) -> list[str]:
    """Return a word for each name, no two alike: a second `A-b` is `ABX`."""
    taken: set[str] = set()
    found = []
    for name in names:
        word = _camel(name) or "X"
        while word in taken:
            word += "X"
        taken.add(word)
        found.append(word)
    return found


def _number(value: float | None) -> str:
    return "--" if value is None else f"{value:.1f}"
