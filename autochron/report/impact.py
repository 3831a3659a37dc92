"""The report of `autochron impact`, and the file that keeps its results for later reports.

The file is JSON of `version` 1. Its `sites` map a file, the hash of a line and a call to the trace and the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

import tomlkit
from msgspec import DecodeError, json, structs

from autochron._runtime.own_folder import make_folder
from autochron._runtime.unpatched import os
from autochron.config import default_store
from autochron.detect.ambient_rules import is_recordable
from autochron.model import Finding, Impact, Impacts
from autochron.report.text import Page, plural

_WHOLE = frozenset({"main", "run", "__init__", "__call__"})
"""Names of functions that do too much to be one boundary."""
VERSION = 1
FILE = "impact.json"


def write_impacts(impacts: Impacts, stream: TextIO, *, as_json: bool) -> None:
    """Write the result for each site and their count, as text or as JSON."""
    if as_json:
        data = {"version": VERSION, **structs.asdict(impacts)}
        data["sites"] = [
            {**structs.asdict(site), "rule": None if site.effect is None else mending(site)}
            for site in impacts.sites
        ]
        data["harmful"] = sum(site.effect is not None for site in impacts.sites)
        stream.write(json.format(json.encode(data), indent=2).decode() + "\n")
        return
    page = Page(stream)
    written: set[str] = set()
    for site in impacts.sites:
        _write(site, page, written)
    for problem in impacts.problems:
        page.line(problem, "yellow")
    harmful = sum(site.effect is not None for site in impacts.sites)
    untried = sum(site.untried is not None for site in impacts.sites)
    rest = f", {untried} not tried" if untried else ""
    page.line(
        f"autochron: {harmful} of {plural(len(impacts.sites), 'site')} harmful{rest}; "
        f"{plural(impacts.replays, 'replay')} of trace {impacts.trace}",
        "bold red" if harmful else "bold",
    )


def mending(impact: Impact) -> str:
    """Return the rule that makes a harmful value the same in each replay, or a comment where no rule can."""
    site, category = impact.site, impact.category
    if impact.call == "hash":
        return "# take a digest of `hashlib`: the hash of a text is another one in each process"
    if impact.call == "id":
        return "# name the object by something of its own"
    if category == "set-order":
        return "# sort it: `sorted(...)` has one order in every run"
    if category == "identity":
        return "# give its class a `__repr__`, or show what names the object"
    if category == "env":
        return "# set the variable where the program is replayed as it was where it was recorded, or pass its value in"
    document, tables, table = tomlkit.document(), tomlkit.aot(), tomlkit.table()
    if impact.tier == "direct" and is_recordable(impact.call):
        table.update({"kind": "ambient", "call": impact.call, "site": str(site)})
        if site.hash:
            table["hash"] = site.hash
    elif (
        site.qualname.replace(".", "").isidentifier()
        and site.qualname.rpartition(".")[2] not in _WHOLE
        and site.file.endswith(".py")
        and _module(site.file).replace(".", "").isidentifier()
        and not site.file.startswith("/")
    ):
        table.update(
            {"name": site.qualname, "kind": "tool", "target": f"{_module(site.file)}:{site.qualname}"}
        )
    else:
        return "# move it into a function of its own, and make that a boundary"
    tables.append(table)
    document["boundary"] = tables
    return tomlkit.dumps(document).strip()


def _module(file: str) -> str:
    """Return the module that a file of the project most likely is."""
    return file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _write(impact: Impact, page: Page, written: set[str]) -> None:
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
    if impact.effect is not None and (rule := mending(impact)) not in written:
        written.add(rule)
        for line in rule.splitlines():
            page.line(f"    {line}")


def save(impacts: Impacts, folder: str) -> str | None:
    """Write the results into the folder's `impact.json`. The file keeps the results of other sites.

    Returns:
        Why the file can't be written, as one line for the user; None if it was written.
    """
    sites: dict[str, Any] = {**_load_sites(folder)}
    for site in impacts.sites:
        if site.untried is None:
            sites[_key(site)] = {"trace": impacts.trace, "impact": site.said}
    path = os.path.join(folder, FILE)
    data = json.format(json.encode({"version": VERSION, "sites": dict(sorted(sites.items()))}), indent=2)
    try:
        make_folder(folder)
        with open(f"{path}.new", "wb") as file:
            file.write(data + b"\n")
        os.replace(f"{path}.new", path)
    except OSError as error:
        return f"{path} can't be written ({error.strerror}), so later reports don't know of this (no-report)"
    return None


def folder_of(store: str | None, rule_file: str | None, folder: str) -> str:
    """Return the folder of `impact.json`: the store's folder, or the default store's where the store is no file.

    Args:
        store: the store that the user named; None for the default one.
        rule_file: the rule file; None where there is none.
        folder: the working folder, for relative paths.
    """
    url = (store or default_store(rule_file, folder)).removeprefix("sqlite:///")
    if "://" in url or url == ":memory:":
        url = default_store(rule_file, folder)
    return os.path.dirname(os.path.join(folder, url))


def with_impact(findings: Sequence[Finding], folder: str) -> tuple[Finding, ...]:
    """Return the findings with the results that `impact.json` in a folder has for them."""
    sites = _load_sites(folder) if findings else {}
    if not sites:
        return tuple(findings)
    return tuple(
        structs.replace(finding, impact=str(known["impact"]))
        if isinstance(known := sites.get(_key(finding)), dict)
        and finding.impact is None
        and "impact" in known
        else finding
        for finding in findings
    )


def _key(site: Finding | Impact) -> str:
    return f"{site.site.file}|{site.site.hash}|{site.call}"


def _load_sites(folder: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder, FILE), "rb") as file:
            kept = json.decode(file.read())
    except (OSError, DecodeError):
        return {}
    sites = kept.get("sites") if isinstance(kept, dict) and kept.get("version") == VERSION else None
    return sites if isinstance(sites, dict) else {}
