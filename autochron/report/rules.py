"""The reports of `autochron rules` and `autochron rules --explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from msgspec.json import encode

from autochron.model import Explained, Fit, Rules, Surveyed
from autochron.report.text import Page, plural

_FEW = 12


def write_rules(
    rules: Rules, surveyed: Sequence[Surveyed], stream: TextIO, *, as_json: bool, whole: bool = False
) -> None:
    """Write each rule of the project with the definitions that it fits, then the packs; or all rules as JSON lines.

    Args:
        rules: the rules in force.
        surveyed: what each rule of the project and of the packs fits.
        stream: where it is written.
        as_json: write a line of JSON for each of `surveyed`.
        whole: show each rule of the packs, too, where a pack of an installed library has a line otherwise and the others
            share one. Nothing is left out of long lists.
    """
    if as_json:
        stream.writelines(encode(entry).decode() + "\n" for entry in surveyed)
        return
    page = Page(stream, whole=whole)
    own = [entry for entry in surveyed if entry.rule.pack is None]
    packs: dict[str, list[Surveyed]] = {}
    for entry in surveyed:
        if entry.rule.pack is not None:
            packs.setdefault(entry.rule.pack, []).append(entry)
    _write_all(page, own)
    _write_other_tables(page, rules)
    if not own and not any(getattr(rules, field) for field in ("ambient", "ambients", *_OTHER_TABLES)):
        page.line(
            "the project has no rules of its own; tools are found by name, or a pack knows them", "yellow"
        )
    absent = [name for name, entries in packs.items() if not any(entry.is_installed for entry in entries)]
    for name, entries in packs.items():
        if name not in absent:
            ids = {entry.rule.id for entry in entries}
            count = "" if whole else f"  {plural(len(ids), 'rule')}{_pack_times(entries)}"
            page.line(f"pack {name}{count}", "bold")
            if whole:
                _write_all(page, entries)
    if absent:
        page.line(f"packs of libraries that are not installed: {', '.join(absent)}", "dim")
    if not whole and len(absent) < len(packs):
        page.line("-v shows each rule of the packs", "dim")


_OTHER_TABLES = {
    "traces": "[[trace]]",
    "ignores": "[[ignore]]",
    "sources": "[[source]]",
    "snapshots": "[[snapshot]]",
    "effects": "[[effect]]",
    "outputs": "[[output]]",
}
"""By field of `Rules`: tables of a project that are no boundaries."""


def _write_other_tables(page: Page, rules: Rules) -> None:
    """Write the project's boundaries of ambient values, and how many tables there are of each other kind."""
    for rule in rules.ambients:
        page.line(f"{rule.place}  ambient  {rule.name or rule.call}", "bold")
        page.line(f"  {rule.call} at {rule.site}")
    if rules.ambient:
        page.line(f"ambient values that the project asks for: {', '.join(rules.ambient)}")
    counts = {
        name: len(getattr(rules, field)) for field, name in _OTHER_TABLES.items() if getattr(rules, field)
    }
    if counts:
        page.line(f"other tables: {', '.join(f'{count} {name}' for name, count in counts.items())}")


def _pack_times(entries: Sequence[Surveyed]) -> str:
    """Return how often the places were crossed that the rules of a pack fit; empty where there is no trace."""
    times = {(fit.place, fit.qualname): fit.place_crossed for entry in entries for fit in entry.fits}
    known = [count for count in times.values() if count is not None]
    return f"  ×{sum(known)} in the latest trace" if known else ""


def _write_all(page: Page, surveyed: Sequence[Surveyed]) -> None:
    """Write each table of a rule file."""
    for rule_id in dict.fromkeys(entry.rule.id for entry in surveyed):
        alike = [entry for entry in surveyed if entry.rule.id == rule_id]
        page.line(f"{rule_id}  {alike[0].rule.kind}  {alike[0].rule.name}", "bold")
        _write_one(page, alike)


def _write_one(page: Page, entries: list[Surveyed]) -> None:
    """Write one table of a rule file, which becomes several rules if it has lists."""
    for selector in dict.fromkeys(str(entry.rule.selector) for entry in entries):
        page.line(f"  {selector}")
    for condition in dict.fromkeys(
        " and ".join(f"{path} = {glob}" for path, glob in entry.rule.when) for entry in entries
    ):
        if condition:
            page.line(f"    when {condition}")
    fits = list(dict.fromkeys(fit for entry in entries for fit in entry.fits))
    for fit in fits[: page.few(_FEW)]:
        page.line(f"    {fit.place}  {fit.qualname}{_times(fit)}", "green")
    if len(fits) > page.few(_FEW):
        page.line(f"    … and {len(fits) - page.few(_FEW)} more")
    for remark in dict.fromkeys(entry.remark for entry in entries if entry.remark):
        page.line(f"    {remark}", "yellow")


def _times(fit: Fit | Explained) -> str:
    if fit.crossed is not None:
        return f"  ×{fit.crossed} in the latest trace"
    shared = fit.place_crossed if isinstance(fit, Fit) else None
    return "" if shared is None else f"  ×{shared} in the latest trace, by the rules that share this place"


def write_explained(explained: Sequence[Explained], stream: TextIO, *, as_json: bool) -> None:
    """Write for each call and definition on a line which rules fit it, and why the others don't."""
    if as_json:
        stream.writelines(encode(line).decode() + "\n" for line in explained)
        return
    page = Page(stream)
    for line in explained:
        page.line(f"{line.place}  {line.what}{_times(line)}", "bold")
        if not line.considered:
            kind = "calls" if line.what.startswith("call") else "definitions"
            page.line(f"  no rule of the project selects {kind}", "yellow")
        for candidate in line.considered:
            verdict = (
                f"fits {candidate.reason}".rstrip() if candidate.fits else f"doesn't fit: {candidate.reason}"
            )
            page.line(
                f"  {candidate.rule.place}  {candidate.rule.selector}  {verdict}",
                "green" if candidate.fits else None,
            )
