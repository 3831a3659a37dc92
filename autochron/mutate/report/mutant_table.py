"""Tables above the standard page: what each mutant did to the world, which tests notice it, and what the fix decides by.

The standard page shows the verdict of one method. Here a mutant is bad if it does harm that the folder's own tests let pass,
good if they notice it, and neither if only another method does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autochron.escaping import html_text
from autochron.mutate.model import Result, StudiedIncident, Study, written
from autochron.mutate.report import tallies

_HEADINGS = ("mutant", "change", "unsafe", "what it did to the world", "killed by")
_DECISIONS = ("incident", "argument", "tried", "changed the decision", "what it decides", "such as")


def tables(study: Study) -> str:
    """Return the tables as HTML; empty without mutants."""
    rows = sorted(
        ((incident, result) for incident in study.incidents for result in incident.results),
        key=lambda row: _ORDER.index(_class_of(row[1])),
    )
    if not rows:
        return ""
    mutants = _table(_HEADINGS, ((_class_of(result), _cells(incident, result)) for incident, result in rows))
    decisions = [("", cells) for cells in tallies.sensitivity_rows(study)]
    return _folded(f"{len(rows)} mutants, those that do harm and live first", mutants) + (
        _folded("Which argument can change what a fix decides", _table(_DECISIONS, decisions))
        if decisions
        else ""
    )


_ORDER = ("bad", "alive", "other", "good")


def _class_of(result: Result) -> str:
    """Return how a mutant is shown: an escape, one that nothing kills, one that other tests kill, or one that ours do."""
    if tallies.is_escape(result):
        return "bad"
    killers = tallies.killers(result)
    if written(result.verdicts) in killers:
        return "good"
    return "other" if killers else "alive"


def _cells(incident: StudiedIncident, result: Result) -> tuple[str, ...]:
    change = "\n".join(tallies.changed_lines(result))
    unsafe = "yes" if result.is_unsafe else "no" if incident.has_predicate else "not known to be"
    done = result.harm or "\n".join(tallies.difference_lines(incident, result))
    killers = ", ".join(tallies.killers(result)) or "nothing"
    return tallies.place(incident.name, result), change, unsafe, done, killers


def _folded(summary: str, table: str) -> str:
    return f"<details><summary>{html_text(summary)}</summary>\n<div>{table}</div></details>\n"


def _table(headings: Iterable[str], rows: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    head = "".join(f"<th>{html_text(heading)}</th>" for heading in headings)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{''.join(_rows(rows))}</tbody></table>"


def _rows(rows: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    for name, cells in rows:
        members = "".join(f"<td>{html_text(cell)}</td>" for cell in cells)
        yield f'<tr class="{name}">{members}</tr>\n' if name else f"<tr>{members}</tr>\n"
