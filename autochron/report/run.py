"""The report at the end of `autochron run`."""

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

_HEADERS = (".request.headers.", "._request.headers.")
"""Where exceptions of an SDK and of httpx hold the credential. It is always masked, and a replay does not need it."""


def write_run(
    summary: RunSummary, stream: TextIO, *, quiet: bool = False, as_json: bool = False, whole: bool = False
) -> None:
    """Write what was recorded, where the trace is, and what was not recorded. A closed stream is no error.

    Args:
        summary: the result of the run.
        stream: where to write it.
        quiet: write nothing unless crossings were lost; then also why. It has no effect on JSON.
        as_json: write JSON, not text.
        whole: leave nothing out of long lists.
    """
    try:
        page = Page(stream, whole=whole)
        if as_json:
            stream.write(encode(summary).decode() + "\n")
        elif not quiet:
            _write(summary, page)
        elif summary.lost:
            _write_head(summary, page)
            _write_lost(summary, page)
            _write_few(page, list(summary.problems))
        stream.flush()
    except (OSError, ValueError):  # nobody reads
        return


def _write_head(summary: RunSummary, page: Page) -> None:
    kept = summary.stored
    counted = (
        f"{kept} of {plural(summary.crossings, 'crossing')}"
        if summary.crossings > kept
        else plural(kept, "crossing")
    )
    if summary.kept:
        page.line(f"autochron: {counted} recorded in trace {summary.trace} ({summary.store})", "bold")
    else:
        page.line(
            f"autochron: {counted}, and no trace kept: the run ended with status 0 (--keep failed)", "bold"
        )


def _write_lost(summary: RunSummary, page: Page) -> None:
    if summary.lost:
        page.line(f"  lost: {plural(summary.lost, 'crossing')} could not be written (lost)", "red")


def _write(summary: RunSummary, page: Page) -> None:
    _write_head(summary, page)
    if summary.counts:
        page.line("  " + _counted(summary.counts))
    if summary.failed:
        page.line(f"  {summary.failed}", "red")
    if summary.requests:
        page.line(
            f"  and {plural(summary.requests, 'trace')} of calls that have one each: autochron traces list"
        )
    footer = summary.footer
    _write_tools(footer, page)
    _write_few(page, [_entry(entry) for entry in footer.ledger])
    _write_few(page, [f"not rebuilt on replay: {path} (opaque)" for path in summary.opaque])
    _write_few(page, [f"compared by type only: {path} (opaque-input)" for path in summary.by_type])
    _write_few(
        page,
        [
            f"masked in an outcome, so a replay serves the mask: {path} (masked)"
            for path in summary.masked
            if not any(headers in path.replace(": ", ".") for headers in _HEADERS)
        ],
    )
    _write_few(
        page,
        [
            f"network outside every crossing: {connection.address} at {connection.site} (unmarked-network)"
            for connection in footer.connections
        ],
    )
    _write_effects(footer.effects, page)
    _write_state(footer, page)
    _write_findings(summary, page)
    _write_lost(summary, page)
    _write_few(page, list(summary.problems))


def _write_tools(footer: Footer, page: Page) -> None:
    """Write which tools have no boundary, were found, or were declined."""
    for tool in footer.unwoven_tools:
        page.line(
            f"  not woven: the model asked for {tool}, and no boundary is known to cover it; a replay may run it for real "
            "(unwoven-tool)",
            "yellow",
        )
    for found in footer.found_tools:
        page.line(f"  found: {found.tool} is {found.file}:{found.line} {found.qualname}, {found.how}")
    for found in footer.unconfirmed_tools():
        page.line(
            f"  not confirmed: no result that the model got holds what {found.qualname} at {found.file}:{found.line} "
            f"returned, so {found.tool} may be another function; a replay refuses it (unconfirmed-tool)",
            "yellow",
        )
        for line in found.table().splitlines():
            page.line(f"        {line}", "dim")
    if footer.output_forms:
        page.line(
            f"  filled in: {', '.join(footer.output_forms)}: a type of data that the model had to fill in, so nothing runs"
        )
    if footer.declined_tools:
        tools = ", ".join(footer.declined_tools)
        page.line(
            f"  declined: {tools}: asked for by the model, covered by a boundary, and not called by the agent"
        )


def _write_effects(effects: tuple[OutsideEffect, ...], page: Page) -> None:
    """Write the effects outside every boundary, and the rules that would cover the first ones."""
    lines = []
    for effect in effects[: page.few(_FEW)]:
        replayed = (
            "a replay does it on a scratch copy"
            if effect.kind in {"file", "database"}
            else "a replay refuses it"
        )
        lines.append(
            f"effect outside every boundary: {effect.site} {effect.does} {effect.what}; {replayed} (outside-effect)"
        )
        if effect.near:
            lines.append(f"      {effect.near}")
    for line in lines:
        page.line(f"  {line}", "yellow")
    shown = {
        effect.function: None
        for effect in effects
        if effect.function and not effect.function.endswith(":<module>")
    }
    for function in list(shown)[:_TABLES]:
        page.line("        [[boundary]]", "dim")
        page.line('        name = "{__name__}"', "dim")
        page.line('        kind = "tool"', "dim")
        page.line(f"        define = {encode(function).decode()}", "dim")
    if len(effects) > page.few(_FEW):
        page.line(f"    … and {len(effects) - page.few(_FEW)} more", "yellow")


def _write_state(footer: Footer, page: Page) -> None:
    """Write which files and databases were kept as they were, which were not, and the rules that would keep these."""
    kept = [
        snapshot
        for snapshot in footer.snapshots
        if snapshot.digest or (snapshot.kind == "absent" and snapshot.wrote)
    ]
    shown = [snapshot for snapshot in kept if snapshot.wrote or snapshot.by_rule or snapshot.kind == "sqlite"]
    if shown:
        names = ", ".join(f"{snapshot.path}{_size_of(snapshot)}" for snapshot in shown[: page.few(_FEW)])
        more = f" and {len(shown) - page.few(_FEW)} more" if len(shown) > page.few(_FEW) else ""
        page.line(f"  kept as it was before the run: {names}{more}")
    for snapshot in footer.snapshots:
        if snapshot.kind != "not-kept" or not (snapshot.wrote or snapshot.by_rule):
            continue
        page.line(f"  not kept as it was: {snapshot.path}: {snapshot.reason} (no-snapshot)", "yellow")
        if not snapshot.by_rule:
            page.line("        [[snapshot]]", "dim")
            page.line(f"        path = {encode(snapshot.path).decode()}", "dim")


def _size_of(snapshot: Snapshot) -> str:
    if snapshot.kind == "absent":
        return " (not there yet)"
    return f" ({snapshot.size / 1e6:,.1f} MB)" if snapshot.size > 100_000 else ""


def _write_findings(summary: RunSummary, page: Page) -> None:
    """Write which calls escaped the record, and the rules that would cover the first ones."""
    findings = summary.footer.findings
    escaped = [finding for finding in findings if finding.covered is None]
    if escaped:
        # lazy: tomlkit, and most runs of a marked agent find none
        from autochron.report.findings import coverage, details, remedy

        direct = [finding for finding in escaped if finding.tier == "direct"]
        page.line(
            f"  {plural(len(escaped), 'non-deterministic call')} outside every boundary, which a replay makes for real;"
            f" {coverage(findings)} (unmarked-call)",
            "yellow",
        )
        shown = [*direct, *(finding for finding in escaped if finding.tier != "direct")][:_SITES]
        for at, finding in enumerate(shown):
            page.line(f"    {finding.site}  {finding.category}  {finding.call}  {details(finding)}", "yellow")
            for line in remedy(finding).splitlines() if at < _TABLES else ():
                page.line(f"        {line}", "dim")
        if len(escaped) > len(shown):
            page.line(f"    … and {len(escaped) - len(shown)} more: --report FILE.txt names all", "yellow")
    _write_few(page, list(summary.stale))


_SITES = 12
"""How many calls are named at the end of a run."""

_TABLES = 3
"""For how many of them the TOML of a rule is shown."""


def _counted(counts: tuple[tuple[str, int], ...]) -> str:
    """Return the counts by name. Ambient values are counted together, because each line has a name of its own for them."""
    values = sum(count for name, count in counts if "@" in name)
    shown = [f"{name} ×{count}" for name, count in counts if "@" not in name]
    return ", ".join([*shown, f"ambient values ×{values}"] if values else shown)


def _entry(entry: Unwoven) -> str:
    label = "" if entry.slug in {ADDRESS, NOT_COMPARED, UNTESTED} else "not woven: "
    return f"{label}{entry.what}: {entry.reason} ({entry.slug})"


def _write_few(page: Page, lines: list[str]) -> None:
    for line in lines[: page.few(_FEW)]:
        page.line(f"  {line}", "yellow")
    if len(lines) > page.few(_FEW):
        page.line(f"  … and {len(lines) - page.few(_FEW)} more like it", "yellow")
