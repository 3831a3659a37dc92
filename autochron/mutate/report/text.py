"""What `autochron mutate` says of a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from autochron.mutate.model import Result, StudiedIncident, Study
from autochron.mutate.report import tallies
from autochron.mutate.report.tallies import CUT_POINT, KINDS, KillCount
from autochron.report.phrases import cells, clean, cut
from autochron.report.text import Page, plural

_WIDE = 160
"""Characters of a line that quotes code or a reason."""

_LINES = 12
"""Lines of a diff."""


def write_study(study: Study, stream: TextIO, *, quiet: bool = False, survivors: bool = False) -> None:
    """Show what each method kills, and what lives.

    `survivors` lists those of cut-point, too; `quiet` says in plain text only how it came out, and what is wrong.

    Raises:
        UsageError: where the canaries don't hold: such a study says nothing.
    """
    tallies.check(study)
    page = Page(stream, plain=quiet)
    if not quiet:
        _write_tables(study, page)
    _write_escapes(study, page, quiet=quiet)
    _write_faults(study, page, quiet=quiet)
    if not quiet:
        for method in _listed(study, survivors=survivors):
            _write_survivors(study, method, page)
    _write_sum(study, page)


def _listed(study: Study, *, survivors: bool) -> tuple[str, ...]:
    """Return the methods whose survivors are listed, the one that sees most first."""
    if not study.methods:
        return ()
    most = tallies.chosen(study, None, "widened")
    less = survivors and most != CUT_POINT and CUT_POINT in study.methods
    return (most, CUT_POINT) if less else (most,)


# --- tables -----------------------------------------------------------------------------------------------------------


def _write_tables(study: Study, page: Page) -> None:
    part, parts = study.shard
    shard = f", shard {part} of {parts}: a part of the study" if parts > 1 else ""
    page.line(f"mutants of the operators {study.operators}{shard}", "bold")
    _write_grid(
        page, ("incident", "generated", "same bytecode", "duplicates", "tried"), list(_generated(study))
    )
    page.line("")
    page.line("killed, of those tried", "bold")
    _write_grid(page, ("incident", *study.methods), list(_kills(study)))
    page.line("")
    page.line("how the killed ones ended", "bold")
    _write_grid(page, ("method", *_ends(study), "survived", "not tried"), list(_split(study)))
    page.line("")
    rows = list(_sensitive(study))
    if rows:
        page.line("which argument can change what the fix decides, the others as in the incident", "bold")
        left = frozenset({"argument", "decision", "example"})
        _write_grid(page, ("incident", "argument", "tried", "flips", "decision", "example"), rows, left)
        page.line("")


def _generated(study: Study) -> Iterator[tuple[str, ...]]:
    for incident in study.incidents:
        yield incident.name, *map(str, tallies.counted_generated([incident]))
    yield "sum", *map(str, tallies.counted_generated(study.incidents))


def _kills(study: Study) -> Iterator[tuple[str, ...]]:
    def rows(name: str, results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
        told = [tallies.tally(results, method) for method in study.methods]
        yield name, *map(_share, told)
        yield "95 % interval", *map(_interval, told)

    for incident in study.incidents:
        yield from rows(incident.name, incident.results)
    everything = tallies.all_results(study)
    yield from rows("sum", everything)
    real = [result for result in everything if not tallies.is_equivalent(result)]
    if len(real) < len(everything):
        yield from rows(f"without {len(everything) - len(real)} argued equivalent", real)


def _share(found: KillCount) -> str:
    return "-" if found.percent is None else f"{found.killed}/{found.tried} {found.percent:.1f} %"


def _interval(found: KillCount) -> str:
    return "-" if found.interval is None else f"{found.interval[0]:.1f}–{found.interval[1]:.1f} %"


def _ends(study: Study) -> tuple[str, ...]:
    """Name the kinds; `passed` only where some are killed by passing, as the fix fails."""
    everything = tallies.all_results(study)
    odd = any(tallies.kinds(everything, method)["passed"] for method in study.methods)
    return tuple(kind for kind in KINDS if odd or kind != "passed")


def _split(study: Study) -> Iterator[tuple[str, ...]]:
    everything = tallies.all_results(study)
    for method in study.methods:
        counts = {str(kind): count for kind, count in tallies.kinds(everything, method).items()}
        found = tallies.tally(everything, method)
        numbers = [*(counts[kind] for kind in _ends(study)), found.tried - found.killed]
        yield method, *map(str, [*numbers, len(everything) - found.tried])


def _sensitive(study: Study) -> Iterator[tuple[str, ...]]:
    for incident in study.incidents:
        for each in incident.sensitivity:
            decision = "can change" if each.flips else "never changes"
            example = cut(clean(each.example), _WIDE // 2)
            yield incident.name, each.argument, str(each.tried), str(each.flips), decision, example


def _write_grid(
    page: Page, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: frozenset[str] = frozenset()
) -> None:
    """Write a table below its headings: the first column and those named to the left, numbers to the right."""
    widths = [max(map(cells, column)) for column in zip(headings, *rows, strict=True)]
    for at, row in enumerate((headings, *rows)):
        drawn = []
        for number, (heading, cell, width) in enumerate(zip(headings, row, widths, strict=True)):
            blank = " " * (width - cells(cell))
            drawn.append(cell + blank if not number or heading in left else blank + cell)
        page.line("  ".join(drawn).rstrip(), None if at else "dim")


# --- what is wrong ----------------------------------------------------------------------------------------------------


def _write_escapes(study: Study, page: Page, *, quiet: bool) -> None:
    """Say how many unsafe mutants live: 0 is said, too."""
    if CUT_POINT not in study.methods:
        page.line("escapes: not known, for cut-point was not tried", "yellow")
        return
    unsafe = [result for result in tallies.all_results(study) if result.is_unsafe]
    untried = sum(CUT_POINT not in result.verdicts for result in unsafe)
    escapes = sum(map(tallies.is_escape, unsafe))
    killed = sum(tallies.is_killed(result, CUT_POINT) for result in unsafe)
    rest = f", {untried} were not tried" if untried else ""
    page.line(
        f"escapes: {escapes} of {plural(len(unsafe), 'mutant')} that let through what the guard is there to prevent;"
        f" cut-point kills {killed}{rest}",
        "bold red" if escapes else "yellow" if untried else "green",
    )
    for incident in study.incidents:
        for result in incident.results:
            if tallies.is_escape(result):
                _write_mutant(incident, result, page, brief=quiet)


def _write_faults(study: Study, page: Page, *, quiet: bool) -> None:
    """Say what speaks against the study, and, unless `quiet`, what speaks for it."""
    if not quiet:
        canaries = [each for incident in study.incidents for each in incident.canaries]
        page.line(f"canaries: {sum(each.holds for each in canaries)} of {len(canaries)} hold", "green")
    sample = [(incident, each) for incident in study.incidents for each in incident.agreement]
    wrong = [(incident, each) for incident, each in sample if each.ours != each.theirs]
    if not sample and not quiet:
        page.line("plain cosmic-ray: no sample was run", "yellow")
    elif wrong or not quiet:
        agree = f"{len(sample) - len(wrong)} of {len(sample)} agree"
        page.line(f"plain cosmic-ray: {agree}", "bold red" if wrong else "green")
    for incident, each in wrong:
        ours, theirs = ("killed" if said else "survived" for said in (each.ours, each.theirs))
        where = _found(incident, each.mutant)
        page.line(f"  {where}: {ours} here, {theirs} there", "red")
    for incident in study.incidents:
        for result in incident.results:
            if tallies.is_refuted(result):
                by = ", ".join(tallies.killers(result)) or "; ".join(tallies.told(incident, result))
                page.line(
                    f"argued equivalent, and yet it is told from the fix: {_name(incident, result)}"
                    f" ({clean(by or 'it is unsafe')})",
                    "bold red",
                )


def _found(incident: StudiedIncident, mutant: str) -> str:
    result = next((each for each in incident.results if each.mutant.id == mutant), None)
    return f"{incident.name}  {mutant}" if result is None else _name(incident, result)


def _name(incident: StudiedIncident, result: Result) -> str:
    mutant = result.mutant
    return f"{tallies.place(incident.name, result)}  {mutant.operator}  {mutant.id}"


# --- survivors --------------------------------------------------------------------------------------------------------


def _write_survivors(study: Study, method: str, page: Page) -> None:
    found = [
        (incident, result)
        for incident in study.incidents
        for result in incident.results
        if tallies.survives(result, method)
    ]
    page.line("")
    page.line(f"{plural(len(found), 'survivor')} of {method}{':' if found else ''}", "bold")
    for incident, result in found:
        _write_mutant(incident, result, page)


def _write_mutant(incident: StudiedIncident, result: Result, page: Page, *, brief: bool = False) -> None:
    page.line(f"  {_name(incident, result)}", "bold")
    if brief:
        return
    lines = tallies.small_diff(result)
    for line in lines[:_LINES]:
        page.line(f"    {_short(line)}", "red" if line.startswith("-") else "green")
    if len(lines) > _LINES:
        page.line(f"    … and {plural(len(lines) - _LINES, 'line')} more")
    said = tallies.class_of(result)
    killers = tallies.killers(result)
    if not said:
        said = f"killed by {', '.join(killers)}" if killers else "not classed"
    page.line(f"    {result.behaviour or 'class'}: {said}", "red" if result.behaviour == "escape" else None)
    for where in tallies.told(incident, result):
        page.line(f"    {_short(where)}")
    if result.proof:
        page.line(f"    equivalent: {clean(result.proof)}")
    if result.hint:
        page.line(f"    what would kill it: {clean(result.hint)}", "yellow")


def _short(text: str) -> str:
    return cut(clean(text), _WIDE)


def _write_sum(study: Study, page: Page) -> None:
    """Say the whole in a line."""
    everything = tallies.all_results(study)
    said = []
    for method in study.methods:
        found = tallies.tally(everything, method)
        if found.tried:
            said.append(f"{method} kills {found.killed} of {found.tried} ({_share(found).partition(' ')[2]})")
    count = plural(len(everything), "mutant")
    page.line("")
    page.line(
        f"autochron: {count} of {plural(len(study.incidents), 'incident')}: {', '.join(said) or 'none'}",
        "bold",
    )
