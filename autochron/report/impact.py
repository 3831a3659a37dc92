"""The report of `autochron impact`, and the file that keeps its results for later reports.

The file is JSON of `version` 1. Its `sites` map a file, the hash of a line and a call to the trace and the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from msgspec import DecodeError, json, structs

from autochron._runtime.own_folder import make_folder
from autochron._runtime.unpatched import os
from autochron.config import default_store
from autochron.detect.ambient_rules import is_recordable
from autochron.model import Finding, Impact, ImpactFix, Impacts
from autochron.report.text import Page, plural
from autochron.rules.editing import NewTable, table_text

_WHOLE = frozenset({"main", "run", "__init__", "__call__"})
"""Names of functions that do too much to be one boundary."""
VERSION = 1
FILE = "impact.json"


def write_impacts(impacts: Impacts, stream: TextIO, *, as_json: bool, fixed: ImpactFix | None = None) -> None:
    """Write the result for each site and their count, as text or as JSON, and what `--fix` did."""
    if as_json:
        data = {"version": VERSION, **structs.asdict(impacts)}
        data["sites"] = [
            {**structs.asdict(site), "rule": None if site.effect is None else mending(site)}
            for site in impacts.sites
        ]
        data["harmful"] = sum(site.effect is not None for site in impacts.sites)
        if fixed is not None:
            data["fix"] = structs.asdict(fixed)
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
    if fixed is not None:
        _write_fix(fixed, page)


def _write_fix(fixed: ImpactFix, page: Page) -> None:
    """Write which rules were added, and what a replay with them showed."""
    if not fixed.added:
        page.line(
            "autochron: no rule can record what is harmful; what to do is said at each site", "bold red"
        )
        return
    page.line(f"autochron: {added(fixed)}")
    if fixed.problem is not None:
        page.line(f"autochron: the trace could not be tried with them: {fixed.problem}", "bold red")
        return
    replays = plural(fixed.replays, "replay")
    if fixed.left:
        verb = "is" if len(fixed.left) == 1 else "are"
        harmful = f"{plural(len(fixed.left), 'site')} {verb} harmful"
        page.line(f"autochron: with them {harmful}, in {replays}:", "bold red")
        for site in fixed.left:
            page.line(f"    {site}")
    else:
        page.line(f"autochron: with them no other value changes the run, in {replays}", "bold green")
    page.line("autochron: the trace has no values for them: record the program again")


def added(fixed: ImpactFix) -> str:
    """Return which rules were added, in a few words."""
    return f"{plural(fixed.added, 'rule')} added to {os.path.relpath(fixed.file)}"


def mending(impact: Impact) -> str:
    """Return the rule that makes a harmful value the same in each replay, or a comment where no rule can."""
    table = recording_rule(impact) or _function_rule(impact)
    if table is not None:
        return table_text(table)
    if impact.call == "hash":
        return "# take a digest of `hashlib`: the hash of a text is another one in each process"
    if impact.call == "id":
        return "# name the object by something of its own"
    if impact.category == "set-order":
        return "# sort it: `sorted(...)` has one order in every run"
    if impact.category == "identity":
        return "# give its class a `__repr__`, or show what names the object"
    if impact.category == "env":
        return "# set the variable where the program is replayed as it was where it was recorded, or pass its value in"
    return "# move it into a function of its own, and make that a boundary"


_UNRECORDABLE = frozenset({"set-order", "identity", "env"})
"""The categories whose values a rule can't record: the program or its surroundings have to change."""


def recording_rule(impact: Impact) -> NewTable | None:
    """Return the rule that records the values of a site; None where they can't be recorded."""
    if impact.category in _UNRECORDABLE or impact.tier != "direct" or not is_recordable(impact.call):
        return None
    fields = [("kind", "ambient"), ("call", impact.call), ("site", str(impact.site))]
    if impact.site.hash:
        fields.append(("hash", impact.site.hash))
    return NewTable("boundary", tuple(fields))


def _function_rule(impact: Impact) -> NewTable | None:
    """Return the rule that makes the function of a site a boundary; None for a function that does too much to be one."""
    site = impact.site
    if (
        impact.category in _UNRECORDABLE
        or not site.qualname.replace(".", "").isidentifier()
        or site.qualname.rpartition(".")[2] in _WHOLE
        or not site.file.endswith(".py")
        or not _module(site.file).replace(".", "").isidentifier()
        or site.file.startswith("/")
    ):
        return None
    target = f"{_module(site.file)}:{site.qualname}"
    return NewTable("boundary", (("name", site.qualname), ("kind", "tool"), ("target", target)))


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
    if impact.change is not None:
        page.line(f"    {_changed(impact)}", "dim")
    if impact.effect is not None and (impact.effect.before or impact.effect.after):
        page.line(f"    was {impact.effect.before!r}, is now {impact.effect.after!r}", "dim")
    if impact.effect is not None and (rule := mending(impact)) not in written:
        written.add(rule)
        for line in rule.splitlines():
            page.line(f"    {line}")


def _changed(impact: Impact) -> str:
    """Return which other value has the effect, in a few words."""
    change = impact.change
    assert change is not None  # noqa: S101 - see `_write`
    values = f"{change.after} instead of {change.before}"
    if change.calls > 1:
        return f"with other values of its {change.calls} calls, the first {values}"
    return f"with {values}" + (" in its first call" if impact.count > 1 else "")


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
