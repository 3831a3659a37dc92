"""The block at the end of `autochron run`."""

from __future__ import annotations

from typing import TextIO

from msgspec.json import encode

from autochron.model import (
    ADDRESS,
    NOT_COMPARED,
    UNTESTED,
    Footer,
    OutsideEffect,
    RunSummary,
    Snapshot,
    Unwoven,
)
from autochron.report.text import Page, plural

_FEW = 8

_HEADERS = ".request.headers."
"""Where an SDK's exceptions hold the credential: masked, as it must be, and nothing to do with what a replay serves."""


def write_run(summary: RunSummary, stream: TextIO, *, quiet: bool = False) -> None:
    """Say what was recorded, where it is, and what was not; where it is quiet, only what was lost."""
    try:
        page = Page(stream)
        if not quiet:
            _write(summary, page)
        elif summary.lost:
            _write_head(summary, page)
            _write_lost(summary, page)
        stream.flush()
    except (OSError, ValueError):  # nobody reads
        return


def _write_head(summary: RunSummary, page: Page) -> None:
    kept = summary.stored
    of = (
        f"{kept} of {plural(summary.crossings, 'crossing')}"
        if summary.crossings > kept
        else plural(kept, "crossing")
    )
    if summary.kept:
        page.line(f"autochron: {of} recorded in trace {summary.trace} ({summary.store})", "bold")
    else:
        page.line(f"autochron: {of}, and no trace kept: the run ended with status 0 (--keep failed)", "bold")


def _write_lost(summary: RunSummary, page: Page) -> None:
    if summary.lost:
        page.line(f"  lost: {plural(summary.lost, 'crossing')} could not be written (lost)", "red")


def _write(summary: RunSummary, page: Page) -> None:
    _write_head(summary, page)
    if summary.counts:
        page.line("  " + _counted(summary.counts))
    if summary.requests:
        page.line(
            f"  and {plural(summary.requests, 'trace')} of calls that have one each: autochron traces list"
        )
    footer = summary.footer
    for tool in footer.unwoven_tools:
        page.line(
            f"  not woven: the model asked for {tool}, and no boundary is known to cover it; a replay may run it for real "
            "(unwoven-tool)",
            "yellow",
        )
    if footer.declined_tools:
        tools = ", ".join(footer.declined_tools)
        page.line(
            f"  declined: {tools}: asked for by the model, covered by a boundary, and not called by the agent"
        )
    _some(page, [_entry(entry) for entry in footer.ledger])
    _some(page, [f"not rebuilt on replay: {path} (opaque)" for path in summary.opaque])
    _some(page, [f"compared by type only: {path} (opaque-input)" for path in summary.by_type])
    _some(
        page,
        [
            f"masked in an outcome, so a replay serves the mask: {path} (masked)"
            for path in summary.masked
            if _HEADERS not in path.replace(": ", ".")
        ],
    )
    _some(
        page,
        [
            f"network outside every crossing: {each.address} at {each.site} (unmarked-network)"
            for each in footer.connections
        ],
    )
    _write_effects(footer.effects, page)
    _write_state(footer, page)
    _write_findings(summary, page)
    _write_lost(summary, page)
    _some(page, list(summary.problems))


def _write_effects(effects: tuple[OutsideEffect, ...], page: Page) -> None:
    """Say what the program did to the world outside every boundary, with the rule that would cover it."""
    lines = []
    for each in effects[:_FEW]:
        again = (
            "a replay does it on a scratch copy"
            if each.kind in {"file", "database"}
            else "a replay refuses it"
        )
        lines.append(
            f"effect outside every boundary: {each.site} {each.does} {each.what}; {again} (outside-effect)"
        )
        if each.near:
            lines.append(f"      {each.near}")
    for line in lines:
        page.line(f"  {line}", "yellow")
    shown = {
        each.function: None for each in effects if each.function and not each.function.endswith(":<module>")
    }
    for function in list(shown)[:_TABLES]:
        page.line("        [[boundary]]", "dim")
        page.line('        name = "{__name__}"', "dim")
        page.line('        kind = "tool"', "dim")
        page.line(f"        define = {encode(function).decode()}", "dim")
    if len(effects) > _FEW:
        page.line(f"    … and {len(effects) - _FEW} more", "yellow")


def _write_state(footer: Footer, page: Page) -> None:
    """Say which state is kept, and how to keep what is not."""
    kept = [each for each in footer.snapshots if each.digest or (each.kind == "absent" and each.wrote)]
    shown = [each for each in kept if each.wrote or each.by_rule or each.kind == "sqlite"]
    if shown:
        names = ", ".join(f"{each.path}{_held(each)}" for each in shown[:_FEW])
        more = f" and {len(shown) - _FEW} more" if len(shown) > _FEW else ""
        page.line(f"  kept as it was before the run: {names}{more}")
    for each in footer.snapshots:
        if each.kind != "not-kept" or not (each.wrote or each.by_rule):
            continue
        page.line(f"  not kept as it was: {each.path}: {each.reason} (no-snapshot)", "yellow")
        if not each.by_rule:
            page.line("        [[snapshot]]", "dim")
            page.line(f"        path = {encode(each.path).decode()}", "dim")


def _held(snapshot: Snapshot) -> str:
    if snapshot.kind == "absent":
        return " (not there yet)"
    return f" ({snapshot.size / 1e6:,.1f} MB)" if snapshot.size > 100_000 else ""


def _write_findings(summary: RunSummary, page: Page) -> None:
    """Say which calls escaped the record, with what would mark the first ones."""
    found = summary.footer.findings
    escaped = [each for each in found if each.covered is None]
    if escaped:
        from autochron.report.findings import (
            how,
            percent,
            remedy,
        )  # lazy: tomlkit, and most runs of a marked agent find none

        direct = [each for each in escaped if each.tier == "direct"]
        page.line(
            f"  {plural(len(escaped), 'non-deterministic call')} outside every boundary, which a replay makes for real;"
            f" {percent(found):.0f} % of {len(found)} covered (unmarked-call)",
            "yellow",
        )
        shown = [*direct, *(each for each in escaped if each.tier != "direct")][:_SITES]
        for at, each in enumerate(shown):
            page.line(f"    {each.site}  {each.category}  {each.call}  {how(each)}", "yellow")
            for line in remedy(each).splitlines() if at < _TABLES else ():
                page.line(f"        {line}", "dim")
        if len(escaped) > len(shown):
            page.line(f"    … and {len(escaped) - len(shown)} more: --report FILE.txt names all", "yellow")
    _some(page, list(summary.stale))


_SITES = 12
"""So many calls are named at the end of a run."""

_TABLES = 3
"""Of these so many have the TOML that would mark or ignore them beside them."""


def _counted(counts: tuple[tuple[str, int], ...]) -> str:
    """Count by name; ambient values are counted together, for each line that asks for one has a name of its own."""
    values = sum(count for name, count in counts if "@" in name)
    shown = [f"{name} ×{count}" for name, count in counts if "@" not in name]
    return ", ".join([*shown, f"ambient values ×{values}"] if values else shown)


def _entry(entry: Unwoven) -> str:
    label = "" if entry.slug in {ADDRESS, NOT_COMPARED, UNTESTED} else "not woven: "
    return f"{label}{entry.what}: {entry.reason} ({entry.slug})"


def _some(page: Page, lines: list[str]) -> None:
    for line in lines[:_FEW]:
        page.line(f"  {line}", "yellow")
    if len(lines) > _FEW:
        page.line(f"  … and {len(lines) - _FEW} more like it", "yellow")
