"""`autochron mutate` beside mutmut 3 and plain cosmic-ray: the same mutants, and the same verdicts.

    python -m mutation.comparison --mutmut PYTHON [--guards refund deletion payout] [--all] [--out FILE]

PYTHON has mutmut 3, autochron and what the incidents need. Each tool tries the mutants of a guard in a copy of the
incident that has no other test than the cut-point test, one after the other. Two mutants are the same if the trees of the
whole changed file are, or its bytecode. Plain cosmic-ray tries those that both others have; with --all, all that autochron
has. The table and a line for each difference are printed, and all is written to FILE.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mutation.other_tools import (
    FILE,
    ROOT,
    Made,
    Tried,
    by_autochron,
    by_cosmic_ray,
    by_mutmut,
    program_of,
)

GUARDS = ("refund", "deletion", "payout")
OUT = ROOT / "mutation" / "results" / "comparison.json"

# --- Why a tool lacks a mutant ---

_NO_CASE = "autochron marks a text or empties it, and leaves its case"
_NO_NONE = "autochron puts no `None` in the place of what is there"
_NO_REMOVAL = "autochron removes no argument of a call"

_GUARD_MISTAKES = "mutmut does not make the mistakes that guards are prone to"
_ONE_EACH = "mutmut replaces an operator by one other"

LACKED_BY_MUTMUT = {
    "core/ReplaceComparisonOperator_*": _ONE_EACH,
    "core/ReplaceBinaryOperator_*": _ONE_EACH,
    "core/ReplaceUnaryOperator_*": "mutmut takes a `not` away and puts nothing in its place",
    "core/NumberReplacer": "mutmut adds one to a number, and takes nothing away",
    "core/AddNot": "mutmut negates no condition",
    "autochron/Negate*": "mutmut negates no condition",
    "autochron/EmptyString": "mutmut empties no text",
    "autochron/DropOperand": "mutmut drops no operand",
    "autochron/*": _GUARD_MISTAKES,
}
"""Why mutmut lacks the mutants of an operator, by patterns of its name; the first that fits counts."""

LEFT_OUT_OF_SETS = {
    "core/ReplaceComparisonOperator_Is*": "the set `core` compares no identities with magnitudes",
    "core/ReplaceComparisonOperator_*_Is*": "the set `core` compares no magnitudes with identities",
}
"""Why autochron lacks a mutant of cosmic-ray, by patterns of the operator's name."""


# --- The comparison ---


class Compared(Struct, frozen=True):
    """A mutant in three tools; None where a tool lacks it.

    Attributes:
        line: the line that is changed.
        before: the text there before.
        after: the text there afterwards.
        ours: the mutant of autochron.
        mutmut: the mutant of mutmut.
        cosmic_ray: the mutant of plain cosmic-ray.
    """

    line: int
    before: str
    after: str
    ours: Made | None
    mutmut: Made | None
    cosmic_ray: Made | None


def compared(ours: Tried, mutmut: Tried, cosmic_ray: Tried) -> list[Compared]:
    """Return each distinct mutant with its counterparts."""
    by_program: dict[tuple[Any, ...], list[Made | None]] = {}
    # Those with a verdict first: of those with the same bytecode cosmic-ray tries one.
    theirs = sorted(cosmic_ray.mutants, key=lambda mutant: (not mutant.verdict, mutant.name))
    for number, mutants in enumerate((ours.mutants, mutmut.mutants, theirs)):
        for mutant in mutants:
            three = by_program.setdefault(mutant.program, [None, None, None])
            three[number] = three[number] or mutant
    rows = []
    for three in by_program.values():
        first = next(each for each in three if each is not None)
        rows.append(Compared(first.line, first.before, first.after, *three))
    return sorted(rows, key=lambda row: (row.line, row.before, row.after))


def why_lacking(row: Compared, source: str) -> str:
    """Return why autochron or mutmut lacks a mutant; empty where both have it, or no reason is known."""
    if row.ours is not None and row.mutmut is None:
        return _fitting(LACKED_BY_MUTMUT, row.ours.operator)
    if row.ours is None and row.mutmut is not None:
        reasons = {
            "text in upper case": _NO_CASE,
            "text in lower case": _NO_CASE,
            "None assigned": _NO_NONE,
            "None as an argument": _NO_NONE,
            "argument removed": _NO_REMOVAL,
        }
        return reasons.get(row.mutmut.operator, "")
    if row.ours is None and row.cosmic_ray is not None:
        if row.cosmic_ray.program == program_of(ast.parse(source)):
            return "it has the bytecode of the fix"
        return _fitting(LEFT_OUT_OF_SETS, row.cosmic_ray.operator)
    return ""


def _fitting(reasons: dict[str, str], operator: str) -> str:
    return next((reason for pattern, reason in reasons.items() if fnmatchcase(operator, pattern)), "")


def verdicts_differ(row: Compared) -> bool:
    """Return whether the tools that have tried a mutant say different things of it."""
    tools = (row.ours, row.mutmut, row.cosmic_ray)
    return len({made.verdict != "survived" for made in tools if made is not None and made.verdict}) > 1


class Guard(Struct, frozen=True):
    """The comparison of one guard."""

    name: str
    source: str
    autochron: Tried
    mutmut: Tried
    cosmic_ray: Tried
    rows: list[Compared]

    @property
    def of_cosmic_ray(self) -> int:
        """How many mutants the operators make that are cosmic-ray's own."""
        return sum(mutant.operator.startswith("core/") for mutant in self.cosmic_ray.mutants)

    def both(self, other: str) -> list[Compared]:
        """Return the mutants that autochron and another tool have, and have tried."""
        return [
            row
            for row in self.rows
            if row.ours is not None and (made := getattr(row, other)) is not None and made.verdict
        ]


def compare(name: str, python: str, *, everything: bool) -> Guard:
    """Return the comparison of one guard.

    Args:
        name: its incident.
        python: the interpreter that has mutmut.
        everything: whether plain cosmic-ray tries all of autochron's mutants.
    """
    folder = ROOT / "incidents" / name
    with tempfile.TemporaryDirectory(prefix="comparison-") as place:
        scratch = Path(place).resolve()
        ours = by_autochron(folder, scratch)
        mutmut = by_mutmut(folder, scratch, python)
        known = {mutant.program for mutant in ours.mutants}
        if not everything:
            known &= {mutant.program for mutant in mutmut.mutants}
        cosmic_ray = by_cosmic_ray(folder, scratch, lambda mutant: mutant.program in known)
    source = (folder / FILE).read_text(encoding="utf-8")
    return Guard(name, source, ours, mutmut, cosmic_ray, compared(ours, mutmut, cosmic_ray))


def same_verdicts(rows: Iterable[Compared], other: str) -> int:
    """Return of how many mutants autochron and another tool say the same."""
    return sum(not verdicts_differ(_pair(row, other)) for row in rows)


def _pair(row: Compared, other: str) -> Compared:
    return msgspec.structs.replace(row, **{"cosmic_ray" if other == "mutmut" else "mutmut": None})


def lines(guards: Sequence[Guard]) -> list[str]:
    """Return the tables, and a line for each difference."""
    told = [
        f"{'guard':10}{'autochron':>10}{'mutmut':>8}{'same':>6}{'verdicts':>10}{'cosmic-ray':>12}{'tried':>7}{'verdicts':>10}"
    ]
    for guard in guards:
        rows, theirs = guard.both("mutmut"), guard.both("cosmic_ray")
        agreeing = f"{same_verdicts(rows, 'mutmut')}/{len(rows)}"
        agreeing_too = f"{same_verdicts(theirs, 'cosmic_ray')}/{len(theirs)}"
        told.append(
            f"{guard.name:10}{len(guard.autochron.mutants):>10}{len(guard.mutmut.mutants):>8}{len(rows):>6}{agreeing:>10}"
            f"{guard.of_cosmic_ray:>12}{len(theirs):>7}{agreeing_too:>10}"
        )
    told += ["", f"{'guard':10}{'tool':12}{'trials':>8}{'seconds':>9}{'each':>7}{'a trial':>9}{'load':>6}"]
    for guard in guards:
        for tool in ("autochron", "mutmut", "cosmic_ray"):
            tried: Tried = getattr(guard, tool)
            trial = f"{tried.trial:.2f}" if tried.trial else ""
            told.append(
                f"{guard.name:10}{tool:12}{tried.tried:>8}{tried.seconds:>9.1f}{tried.seconds / tried.tried:>7.2f}"
                f"{trial:>9}{tried.load:>6.1f}"
            )
    for guard in guards:
        told += ["", f"{guard.name}:"]
        told += [f"  {line}" for row in guard.rows for line in _difference(row, guard)]
    return told


def _difference(row: Compared, guard: Guard) -> list[str]:
    """Return the lines of what differs between the tools for one mutant."""
    place = f"{row.line}: {_short(row.before)} -> {_short(row.after)}"
    tools = {"autochron": row.ours, "mutmut": row.mutmut, "cosmic-ray": row.cosmic_ray}
    if verdicts_differ(row):
        said = ", ".join(f"{tool} {made.verdict}" for tool, made in tools.items() if made and made.verdict)
        return [f"verdicts  {place}: {said}"]
    reason = why_lacking(row, guard.source) or "no reason is known"
    if row.ours is not None and row.mutmut is None:
        return [f"not in mutmut  {place} ({row.ours.operator}, {row.ours.verdict}): {reason}"]
    if row.ours is None and row.mutmut is not None:
        return [f"not in autochron  {place} (mutmut: {row.mutmut.operator}, {row.mutmut.verdict}): {reason}"]
    if row.ours is None and row.cosmic_ray is not None:
        return [f"not in autochron  {place} ({row.cosmic_ray.operator}): {reason}"]
    return []


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


# --- The file ---


def as_json(guards: Sequence[Guard], mutmut: str) -> dict[str, Any]:
    """Return the result as it is written."""
    return {
        "versions": {
            "mutmut": mutmut,
            "cosmic-ray": version("cosmic_ray"),
            "python": ".".join(map(str, sys.version_info[:3])),
        },
        "guards": [
            {
                "guard": guard.name,
                "mutants": {
                    "autochron": len(guard.autochron.mutants),
                    "mutmut": len(guard.mutmut.mutants),
                    "cosmic-ray": guard.of_cosmic_ray,
                },
                "same as mutmut": len(guard.both("mutmut")),
                "verdicts that agree with mutmut": same_verdicts(guard.both("mutmut"), "mutmut"),
                "tried by cosmic-ray": len(guard.both("cosmic_ray")),
                "verdicts that agree with cosmic-ray": same_verdicts(guard.both("cosmic_ray"), "cosmic_ray"),
                "times": {
                    tool: {
                        "trials": tried.tried,
                        "seconds": round(tried.seconds, 1),
                        "seconds of a trial": round(tried.trial, 3) or None,
                        "load": round(tried.load, 1),
                    }
                    for tool, tried in (
                        ("autochron", guard.autochron),
                        ("mutmut", guard.mutmut),
                        ("cosmic-ray", guard.cosmic_ray),
                    )
                },
                "rows": [
                    {
                        "line": row.line,
                        "before": row.before,
                        "after": row.after,
                        "autochron": _said(row.ours),
                        "mutmut": _said(row.mutmut),
                        "cosmic-ray": _said(row.cosmic_ray),
                        "same tree": len(
                            {made.tree for made in (row.ours, row.mutmut, row.cosmic_ray) if made is not None}
                        )
                        == 1,
                        "why": why_lacking(row, guard.source) or None,
                    }
                    for row in guard.rows
                ],
                "differences": [line for row in guard.rows for line in _difference(row, guard)],
            }
            for guard in guards
        ],
    }


def _said(made: Made | None) -> dict[str, str | None] | None:
    if made is None:
        return None
    return {"name": made.name, "operator": made.operator, "verdict": made.verdict or None}


def main() -> int:
    """Compare, print and write; return 1 if verdicts differ."""
    parser = argparse.ArgumentParser(prog="python -m mutation.comparison")
    parser.add_argument("--mutmut", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--guards", nargs="+", default=GUARDS)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    asked = [options.mutmut, "-c", "import importlib.metadata as m; print(m.version('mutmut'))"]
    mutmut = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    guards: list[Guard] = []
    for name in options.guards:
        guards.append(compare(name, options.mutmut, everything=options.all))
        options.out.write_text(json.dumps(as_json(guards, mutmut), indent=1) + "\n", encoding="utf-8")
    print("\n".join(lines(guards)))
    return int(any(verdicts_differ(row) for guard in guards for row in guard.rows))


if __name__ == "__main__":
    sys.exit(main())
