"""The reports of `autochron rules` and `autochron rules --explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from msgspec.json import encode

from autochron.model import Explained, Fit, Surveyed
from autochron.report.text import Page

_FEW = 12


def write_rules(surveyed: Sequence[Surveyed], stream: TextIO, *, as_json: bool, whole: bool = False) -> None:
    """Write each rule with the definitions that it fits, as text or as JSON lines.

    In the text the project's rules come first, then the packs; those of libraries that are not installed are one line.
    With `whole` nothing is left out of long lists.
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
    if not own:
        page.line("the project has no rules of its own; autochron init writes the first ones", "yellow")
    absent = [name for name, entries in packs.items() if not any(entry.is_installed for entry in entries)]
    for name, entries in packs.items():
        if name not in absent:
            page.line(f"pack {name}", "bold")
            _write_all(page, entries)
    if absent:
        page.line(f"packs of libraries that are not installed: {', '.join(absent)}", "dim")


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
    return "" if fit.crossed is None else f"  ×{fit.crossed} in the latest trace"


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
