"""What `autochron rules` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from msgspec.json import encode

from autochron.report.text import Page
from autochron.session.survey import Surveyed

_FEW = 12


def write_rules(surveyed: Sequence[Surveyed], stream: TextIO, *, as_json: bool) -> None:
    """Show each rule with the definitions that it fits."""
    if as_json:
        for each in surveyed:
            stream.write(encode(each).decode() + "\n")
        return
    page = Page(stream)
    last = None
    for each in surveyed:
        rule = each.rule
        if rule.id != last:
            page.line(f"{rule.id}  {rule.kind}  {rule.name}", "bold")
            last = rule.id
        conditions = "".join(f"  when {path} = {glob}" for path, glob in rule.when)
        page.line(f"  {rule.selector}{conditions}")
        for fit in each.fits[:_FEW]:
            page.line(f"    {fit.place}  {fit.qualname}", "green")
        if len(each.fits) > _FEW:
            page.line(f"    … and {len(each.fits) - _FEW} more")
        if each.remark:
            page.line(f"    {each.remark}", "yellow")
