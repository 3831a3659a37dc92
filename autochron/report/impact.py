"""What `autochron impact` says, and what is kept of it.

What is kept is a JSON of `version` 1 with `sites`: by file, hash of the line and call the trace and what became of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from msgspec import DecodeError, json, structs

from autochron._runtime.own_folder import make_folder
from autochron._runtime.unpatched import os
from autochron.config import default_store
from autochron.model import Finding, Impact, Impacts
from autochron.report.text import Page, plural

VERSION = 1
FILE = "impact.json"


def write_impacts(impacts: Impacts, stream: TextIO, *, as_json: bool) -> None:
    """Say what became of each site."""
    if as_json:
        said = {"version": VERSION, **structs.asdict(impacts)}
        said["harmful"] = sum(each.effect is not None for each in impacts.sites)
        stream.write(json.format(json.encode(said), indent=2).decode() + "\n")
        return
    page = Page(stream)
    for each in impacts.sites:
        _write(each, page)
    for problem in impacts.problems:
        page.line(problem, "yellow")
    harmful = sum(each.effect is not None for each in impacts.sites)
    untried = sum(each.untried is not None for each in impacts.sites)
    rest = f", {untried} not tried" if untried else ""
    page.line(
        f"autochron: {harmful} of {plural(len(impacts.sites), 'site')} harmful{rest}; "
        f"{plural(impacts.replays, 'replay')} of trace {impacts.trace}",
        "bold red" if harmful else "bold",
    )


def _write(impact: Impact, page: Page) -> None:
    style = "red" if impact.effect is not None else "yellow" if impact.untried is not None else "green"
    count = f"  ×{impact.count}" if impact.count else ""
    how = "direct" if impact.via is None else f"via {impact.via}"
    page.parts(
        [
            (str(impact.site), "bold"),
            (f"  {impact.category}  {impact.call}{count}  {how}  ", None),
            (impact.said, style),
        ]
    )
    if impact.effect is not None and (impact.effect.before or impact.effect.after):
        page.line(f"    was {impact.effect.before!r}, is now {impact.effect.after!r}", "dim")


def keep(impacts: Impacts, folder: str) -> str | None:
    """Keep what was found for the reports of later runs; gives why that can't be."""
    sites: dict[str, Any] = {**_kept(folder)}
    for each in impacts.sites:
        if each.untried is None:
            sites[_key(each)] = {"trace": impacts.trace, "impact": each.said}
    path = os.path.join(folder, FILE)
    make_folder(folder)
    data = json.format(json.encode({"version": VERSION, "sites": dict(sorted(sites.items()))}), indent=2)
    try:
        with open(f"{path}.new", "wb") as file:
            file.write(data + b"\n")
        os.replace(f"{path}.new", path)
    except OSError as error:
        return f"{path} can't be written ({error.strerror}), so later reports don't know of this (no-report)"
    return None


def folder_of(store: str | None, rule_file: str | None, folder: str) -> str:
    """Return the folder in which it is kept: the store's, where that is a file."""
    url = (store or default_store(rule_file, folder)).removeprefix("sqlite:///")
    if "://" in url or url == ":memory:":
        url = default_store(rule_file, folder)
    return os.path.dirname(os.path.join(folder, url))


def with_impact(findings: Sequence[Finding], folder: str) -> tuple[Finding, ...]:
    """Say of each finding what is known of its impact."""
    sites = _kept(folder) if findings else {}
    if not sites:
        return tuple(findings)
    return tuple(
        structs.replace(each, impact=str(known["impact"]))
        if isinstance(known := sites.get(_key(each)), dict) and each.impact is None and "impact" in known
        else each
        for each in findings
    )


def _key(site: Finding | Impact) -> str:
    return f"{site.site.file}|{site.site.hash}|{site.call}"


def _kept(folder: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder, FILE), "rb") as file:
            kept = json.decode(file.read())
    except (OSError, DecodeError):
        return {}
    sites = kept.get("sites") if isinstance(kept, dict) and kept.get("version") == VERSION else None
    return sites if isinstance(sites, dict) else {}
