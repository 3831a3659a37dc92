"""The text report of a mutation study: what `autochron mutate` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from autochron.mutate.model import METHODS, WRITTEN, Result, StudiedIncident, Study, written
from autochron.mutate.report import tallies
from autochron.mutate.report.tallies import CUT_POINT, KINDS, KillCount
from autochron.report.phrases import cells, clean, cut
from autochron.report.text import Page, plural

_MAX_WIDTH = 160
"""Characters of a line that shows code or a reason."""

_MAX_SUSPICIOUS = 8
"""Inputs of one fix that are listed."""

_MAX_DIFF_LINES = 12
"""Lines of a diff that are shown."""


def write_study(study: Study, stream: TextIO, *, quiet: bool = False, survivors: bool = False) -> None:
    """Print which mutants each method kills, and which survive.

    Args:
        study: the study.
        stream: where it is printed.
        quiet: whether only the result and what is wrong are printed, without colours.
        survivors: whether cut-point's survivors are listed besides those of the method that notices most.

    Raises:
        UsageError: a canary does not hold, so the study's verdicts mean nothing.
    """
    tallies.check(study)
    page = Page(stream, plain=quiet)
    _write_suspicious(study, page)
    if not quiet:
        _write_tables(study, page)
    _write_escapes(study, page, quiet=quiet)
    _write_checks(study, page, quiet=quiet)
    if not quiet:
        for method in _listed_methods(study, survivors=survivors):
            _write_survivors(study, method, page)
    _write_summary(study, page)


def _listed_methods(study: Study, *, survivors: bool) -> tuple[str, ...]:
    """Return the methods whose survivors are listed, the one that notices most first."""
    if not study.methods:
        return ()
    most = tallies.chosen(study, None, "widened")
    lists_cut_point = survivors and most != CUT_POINT and CUT_POINT in study.methods
    return (most, CUT_POINT) if lists_cut_point else (most,)


def _write_suspicious(study: Study, page: Page) -> None:
    """Print the inputs that the fixes accept and that no call should have."""
    for incident in study.incidents:
        found = tallies.suspicious(incident)
        if found:
            page.line(
                f"the fix of {incident.name} accepts what looks wrong; refuse it, or let a test say that it is right:",
                "bold yellow",
            )
            for each in found[:_MAX_SUSPICIOUS]:
                page.line(f"  {clean(cut(f'{each.argument} = {each.value}', _MAX_WIDTH))} ({each.why})")
            if len(found) > _MAX_SUSPICIOUS:
                page.line(f"  and {len(found) - _MAX_SUSPICIOUS} more")
            page.line("")


# --- tables -----------------------------------------------------------------------------------------------------------


def _write_tables(study: Study, page: Page) -> None:
    part, parts = study.shard
    shard = f", shard {part} of {parts}: a part of the study" if parts > 1 else ""
    page.line(f"mutants of the operators {study.operators}{shard}", "bold")
    _write_grid(
        page, ("incident", "generated", "same bytecode", "duplicates", "tried"), list(_generated_rows(study))
    )
    page.line("")
    page.line("killed, of those tried", "bold")
    _write_grid(page, ("incident", *_columns(study)), list(_kill_rows(study)))
    if "mocks" not in study.methods:
        page.line("mocks: none of the folders has a test without a trace", "dim")
    page.line("")
    _write_families(study, page)
    page.line("how the killed ones ended", "bold")
    _write_grid(page, ("method", *_end_kinds(study), "survived", "not tried"), list(_end_rows(study)))
    page.line("")
    decisions = tallies.sensitivity_rows(study)
    rows = [(*row[:-1], cut(clean(row[-1]), _MAX_WIDTH // 2)) for row in decisions]
    if rows:
        page.line("which argument can change what the fix decides, the others as in the incident", "bold")
        left = frozenset({"argument", "decision", "example"})
        _write_grid(page, ("incident", "argument", "tried", "flips", "decision", "example"), rows, left)
        page.line("")


def _generated_rows(study: Study) -> Iterator[tuple[str, ...]]:
    for incident in study.incidents:
        yield incident.name, *map(str, tallies.counted_generated([incident]))
    yield "sum", *map(str, tallies.counted_generated(study.incidents))


def _columns(study: Study) -> tuple[str, ...]:
    """Return the methods with a column: those that every folder can have, and what else was tried."""
    always = {method for method in METHODS if method not in WRITTEN or method == CUT_POINT}
    return tallies.ordered({*always, *study.methods})


def _kill_rows(study: Study) -> Iterator[tuple[str, ...]]:
    def row(name: str, results: Sequence[Result]) -> tuple[str, ...]:
        return name, *(_share(tallies.tally(results, method)) for method in _columns(study))

    def rows(name: str, results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
        yield row(name, results)
        intervals = [tallies.interval(results, method) for method in _columns(study)]
        if any(intervals):
            yield "95 % interval", *map(_interval, intervals)

    for incident in study.incidents:
        yield row(incident.name, incident.results)
    every_result = tallies.all_results(study)
    yield from rows("sum", every_result)
    not_equivalent = [result for result in every_result if not tallies.is_equivalent(result)]
    if len(not_equivalent) < len(every_result):
        yield from rows(
            f"without {len(every_result) - len(not_equivalent)} argued equivalent", not_equivalent
        )


def _write_families(study: Study, page: Page) -> None:
    """Print what each method kills of each family of mutants: first of those that do harm, then of all."""
    results = tallies.all_results(study)
    for title, chosen in (
        ("killed, of those that do harm, by family", [result for result in results if result.is_unsafe]),
        ("killed, of all, by family", results),
    ):
        by_family = tallies.families(chosen)
        if by_family:
            page.line(title, "bold")
            rows = [
                (family, *(_share(tallies.tally(members, method)) for method in study.methods))
                for family, members in by_family.items()
            ]
            _write_grid(page, ("family", *study.methods), rows)
            page.line("")


def _share(count: KillCount) -> str:
    return "-" if count.percent is None else f"{count.killed}/{count.tried} {count.percent:.1f} %"


def _interval(bounds: tuple[float, float] | None) -> str:
    return "-" if bounds is None else f"{bounds[0]:.1f}–{bounds[1]:.1f} %"


def _end_kinds(study: Study) -> tuple[str, ...]:
    """Return the kinds of ends that have a column.

    `passed` has one only where mutants are killed by passing, because the tests fail with the fix.
    """
    results = tallies.all_results(study)
    has_passed = any(tallies.kinds(results, method)["passed"] for method in study.methods)
    return tuple(kind for kind in KINDS if has_passed or kind != "passed")


def _end_rows(study: Study) -> Iterator[tuple[str, ...]]:
    results = tallies.all_results(study)
    for method in study.methods:
        counts = {str(kind): count for kind, count in tallies.kinds(results, method).items()}
        kill_count = tallies.tally(results, method)
        numbers = [*(counts[kind] for kind in _end_kinds(study)), kill_count.tried - kill_count.killed]
        yield method, *map(str, [*numbers, len(results) - kill_count.tried])


def _write_grid(
    page: Page, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: frozenset[str] = frozenset()
) -> None:
    """Print a table below its headings.

    Args:
        page: where it is printed.
        headings: one for each column.
        rows: the cells.
        left: the headings of the columns that are aligned left; the first column always is.
    """
    widths = [max(map(cells, column)) for column in zip(headings, *rows, strict=True)]
    for row_number, row in enumerate((headings, *rows)):
        aligned = []
        for column_number, (heading, cell, width) in enumerate(zip(headings, row, widths, strict=True)):
            blank = " " * (width - cells(cell))
            aligned.append(cell + blank if not column_number or heading in left else blank + cell)
        page.line("  ".join(aligned).rstrip(), None if row_number else "dim")


# --- what is wrong ----------------------------------------------------------------------------------------------------


def _write_escapes(study: Study, page: Page, *, quiet: bool) -> None:
    """Print how many unsafe mutants survive, even if none does."""
    if CUT_POINT not in study.methods:
        page.line("escapes: not known, for cut-point was not tried", "yellow")
        return
    unsafe = [result for result in tallies.all_results(study) if result.is_unsafe]
    untried = sum(CUT_POINT not in result.verdicts for result in unsafe)
    escapes = sum(map(tallies.is_escape, unsafe))
    method = written(study.methods)
    killed = sum(tallies.is_killed(result, method) for result in unsafe)
    rest = f", {untried} were not tried" if untried else ""
    page.line(
        f"escapes: {escapes} of {plural(len(unsafe), 'mutant')} that let through what the guard is there to prevent;"
        f" {method} kills {killed}{rest}",
        "bold red" if escapes else "yellow" if untried else "green",
    )
    unjudged = [
        incident.name for incident in study.incidents if incident.results and not incident.has_predicate
    ]
    if unjudged:
        page.line(
            f"  of {', '.join(unjudged)} only the answers are looked at: harm that is done in another way, or to another"
            " amount, counts as none; give its test a predicate",
            "yellow",
        )
    untested = [incident.name for incident in study.incidents if incident.results and not incident.has_twin]
    if untested:
        page.line(
            f"  over-refusal untested: no test of {', '.join(untested)} says what must still go through; record such a run,"
            ' and mark its test part="twin"',
            "yellow",
        )
    for incident in study.incidents:
        for result in incident.results:
            if tallies.is_escape(result):
                _write_mutant(incident, result, page, brief=quiet)


def _write_checks(study: Study, page: Page, *, quiet: bool) -> None:
    """Print the checks of the study that fail and, unless `quiet`, those that hold."""
    if not quiet:
        canaries = [canary for incident in study.incidents for canary in incident.canaries]
        page.line(f"canaries: {sum(canary.holds for canary in canaries)} of {len(canaries)} hold", "green")
        accepting = [clean(incident.name) for incident in study.incidents if incident.accepts_raising]
        if accepting:
            page.line(f"  a body that raises passes, as a refusal: {', '.join(accepting)}")
    sample = [(incident, crosscheck) for incident in study.incidents for crosscheck in incident.agreement]
    differing = [
        (incident, crosscheck) for incident, crosscheck in sample if crosscheck.ours != crosscheck.theirs
    ]
    left_out = [incident for incident in study.incidents if incident.not_compared]
    if not sample and not left_out and not quiet:
        page.line("plain cosmic-ray: no sample was run", "yellow")
    elif differing or (sample and not quiet):
        agree = f"{len(sample) - len(differing)} of {len(sample)} agree"
        page.line(f"plain cosmic-ray: {agree}", "bold red" if differing else "green")
    for incident in () if quiet else left_out:
        page.line(f"plain cosmic-ray: not asked of {incident.name}: {clean(incident.not_compared)}", "yellow")
    for incident, crosscheck in differing:
        verdicts = (crosscheck.ours, crosscheck.theirs)
        ours, theirs = ("killed" if is_killed else "survived" for is_killed in verdicts)
        where = _mutant_name(incident, crosscheck.mutant)
        page.line(f"  {where}: {ours} here, {theirs} there", "red")
    for incident in study.incidents:
        for result in incident.results:
            if tallies.is_refuted(result):
                reason = ", ".join(tallies.killers(result)) or "; ".join(
                    tallies.difference_lines(incident, result)
                )
                page.line(
                    f"argued equivalent, and yet it is told from the fix: {_result_name(incident, result)}"
                    f" ({clean(reason or 'it is unsafe')})",
                    "bold red",
                )


def _mutant_name(incident: StudiedIncident, mutant: str) -> str:
    """Return the name of a mutant by its id, with its place if it has a result."""
    result = next((candidate for candidate in incident.results if candidate.mutant.id == mutant), None)
    return f"{incident.name}  {mutant}" if result is None else _result_name(incident, result)


def _result_name(incident: StudiedIncident, result: Result) -> str:
    mutant = result.mutant
    return f"{tallies.place(incident.name, result)}  {mutant.operator}  {mutant.id}"


# --- survivors --------------------------------------------------------------------------------------------------------


def _write_survivors(study: Study, method: str, page: Page) -> None:
    survivors = [
        (incident, result)
        for incident in study.incidents
        for result in incident.results
        if tallies.survives(result, method)
    ]
    page.line("")
    page.line(f"{plural(len(survivors), 'survivor')} of {method}{':' if survivors else ''}", "bold")
    for incident, result in survivors:
        _write_mutant(incident, result, page)


def _write_mutant(incident: StudiedIncident, result: Result, page: Page, *, brief: bool = False) -> None:
    page.line(f"  {_result_name(incident, result)}", "bold")
    if brief:
        return
    lines = tallies.changed_lines(result)
    for line in lines[:_MAX_DIFF_LINES]:
        page.line(f"    {_short(line)}", "red" if line.startswith("-") else "green")
    if len(lines) > _MAX_DIFF_LINES:
        page.line(f"    … and {plural(len(lines) - _MAX_DIFF_LINES, 'line')} more")
    description = tallies.behaviour_text(result)
    killers = tallies.killers(result)
    if not description:
        description = f"killed by {', '.join(killers)}" if killers else "not classed"
    page.line(
        f"    {result.behaviour or 'class'}: {description}", "red" if result.behaviour == "escape" else None
    )
    for difference in tallies.difference_lines(incident, result):
        page.line(f"    {_short(difference)}")
    if result.harm:
        page.line(f"    unsafe: {_short(result.harm)}", "red")
    if result.proof:
        page.line(f"    equivalent: {clean(result.proof)}")
    if result.hint:
        page.line(f"    what would kill it: {clean(result.hint)}", "yellow")


def _short(text: str) -> str:
    return cut(clean(text), _MAX_WIDTH)


def _write_summary(study: Study, page: Page) -> None:
    """Print the whole study in one line."""
    results = tallies.all_results(study)
    parts = []
    for method in study.methods:
        kill_count = tallies.tally(results, method)
        if kill_count.tried:
            parts.append(
                f"{method} kills {kill_count.killed} of {kill_count.tried} ({_share(kill_count).partition(' ')[2]})"
            )
    count = plural(len(results), "mutant")
    page.line("")
    page.line(
        f"autochron: {count} of {plural(len(study.incidents), 'incident')}: {', '.join(parts) or 'none'}",
        "bold",
    )
