"""What `autochron rules` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from msgspec.json import encode

from autochron.model import Explained, Fit, Surveyed
from autochron.report.text import Page

_FEW = 12


def write_rules(surveyed: Sequence[Surveyed], stream: TextIO, *, as_json: bool) -> None:
    """Show each rule with the definitions that it fits."""
    if as_json:
        stream.writelines(encode(each).decode() + "\n" for each in surveyed)
        return
    page = Page(stream)
    for rule_id in dict.fromkeys(each.rule.id for each in surveyed):
        alike = [each for each in surveyed if each.rule.id == rule_id]
        page.line(f"{rule_id}  {alike[0].rule.kind}  {alike[0].rule.name}", "bold")
        _write_one(page, alike)


def _write_one(page: Page, alike: list[Surveyed]) -> None:
    """Write what one table says: its lists make several rules of it."""
    for selector in dict.fromkeys(str(each.rule.selector) for each in alike):
        page.line(f"  {selector}")
    for condition in dict.fromkeys(
        " and ".join(f"{path} = {glob}" for path, glob in each.rule.when) for each in alike
    ):
        if condition:
            page.line(f"    when {condition}")
    fits = list(dict.fromkeys(fit for each in alike for fit in each.fits))
    for fit in fits[:_FEW]:
        page.line(f"    {fit.place}  {fit.qualname}{_times(fit)}", "green")
    if len(fits) > _FEW:
        page.line(f"    … and {len(fits) - _FEW} more")
    for remark in dict.fromkeys(each.remark for each in alike if each.remark):
        page.line(f"    {remark}", "yellow")


def _times(fit: Fit | Explained) -> str:
    return "" if fit.crossed is None else f"  ×{fit.crossed} in the latest trace"


def write_explained(explained: Sequence[Explained], stream: TextIO, *, as_json: bool) -> None:
    """Show what each rule makes of the calls and definitions on a line."""
    if as_json:
        stream.writelines(encode(each).decode() + "\n" for each in explained)
        return
    page = Page(stream)
    for each in explained:
        page.line(f"{each.place}  {each.what}{_times(each)}", "bold")
        if not each.considered:
            kind = "calls" if each.what.startswith("call") else "definitions"
            page.line(f"  no rule of the project selects {kind}", "yellow")
        for one in each.considered:
            verdict = f"fits {one.reason}".rstrip() if one.fits else f"doesn't fit: {one.reason}"
            page.line(f"  {one.rule.place}  {one.rule.selector}  {verdict}", "green" if one.fits else None)
