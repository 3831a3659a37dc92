"""Read a project's rule file: `autochron.toml`, or `[tool.autochron]` in `pyproject.toml`."""

from __future__ import annotations

import stat

from autochron._runtime.unpatched import os
from autochron.config import PROJECT_FILE
from autochron.errors import RuleError
from autochron.model import (
    CATEGORIES,
    Category,
    EffectRule,
    IgnoreRule,
    OutputRule,
    Pack,
    RedactRule,
    Rules,
    SnapshotRule,
    TraceRule,
)
from autochron.rules.ambients import is_ambient, read_ambient, read_categories
from autochron.rules.boundaries import read_boundaries
from autochron.rules.nearest import hint
from autochron.rules.packs import load_pack, pack_index
from autochron.rules.selectors import is_dotted, parse_target
from autochron.rules.sites import read_hash, read_site
from autochron.rules.tables import Table, parse_toml, type_name
from autochron.rules.text import read_text

VERSION = 1
"""The version of the rule file's format."""

AUTO = "auto"
_KEYS = (
    *("version", "root", "packs", "project", "disable", "children", "ambient", "stderr", "find"),
    *("boundary", "trace", "ignore", "snapshot", "effect", "output", "redact"),
)


def read_rules(file: str, root: str | None) -> tuple[Rules, tuple[str, ...]]:
    """Read and validate a rule file.

    Args:
        file: its absolute path.
        root: the folder that relative paths start from; None for the one that the file names, or else the file's own.

    Returns:
        The rules without a digest, and the project's paths as they are written.

    Raises:
        RuleError: the file is not valid.
    """
    beside = os.path.dirname(file)
    table = _open(file, shown=_shown(file, beside if root is None else root))
    table.check_keys(_KEYS)
    _check_version(table)
    folder = _root(table, beside) if root is None else root
    auto, packs = _packs(table)
    disable = _disabled(table, packs if not auto else tuple(pack_index()))
    tables = table.tables("boundary", "[[boundary]]")
    boundaries = [rule for inner in tables if not is_ambient(inner) for rule in read_boundaries(inner)]
    project = table.texts("project")
    rules = Rules(
        boundaries=tuple(boundaries),
        packs=() if auto else tuple(load_pack(name, disable) for name in packs),
        auto=auto,
        disable=disable,
        project=_project(table, folder),
        traces=tuple(_trace(inner) for inner in table.tables("trace", "[[trace]]")),
        ignores=tuple(_ignore(inner) for inner in table.tables("ignore", "[[ignore]]")),
        ambient=read_categories(table),
        ambients=tuple(read_ambient(inner) for inner in tables if is_ambient(inner)),
        snapshots=tuple(_snapshot(inner, folder) for inner in _snapshot_tables(table)),
        effects=tuple(_effect(inner) for inner in table.tables("effect", "[[effect]]")),
        outputs=tuple(_output(inner) for inner in table.tables("output", "[[output]]")),
        redact=_redact(table),
        snapshot=table.values.get("snapshot") is not False,
        children=table.flag("children", default=True),
        stderr=table.flag("stderr", default=False),
        find=table.flag("find", default=True),
        root=folder,
        file=file,
    )
    return rules, project


def _shown(file: str, folder: str) -> str:
    """Return a file's name for ids and messages: its path below the root, or its base name if it lies elsewhere."""
    return (
        os.path.relpath(file, folder) if file.startswith(os.path.join(folder, "")) else os.path.basename(file)
    )


def _open(file: str, shown: str) -> Table:
    source, values = parse_toml(shown, read_text(file, shown))
    if os.path.basename(file) != PROJECT_FILE:
        return Table(source, (), values, "the rule file")
    tool = values.get("tool")
    if not isinstance(tool, dict) or not isinstance(tool.get("autochron"), dict):
        raise RuleError(f"{shown} has no table [tool.autochron]; add one, or name another rule file")
    return Table(source, ("tool", "autochron"), tool["autochron"], "[tool.autochron]")


def _check_version(table: Table) -> None:
    if "version" not in table:
        table.refuse(None, f"{table.title} has no `version`; write version = {VERSION}")
    version = table.values["version"]
    if type(version) is not int:
        table.refuse("version", f"`version` must be an integer, and is {type_name(version)}")
    if version > VERSION:
        table.refuse("version", f"`version` is {version}, and this release reads {VERSION}; update autochron")
    if version < 1:
        table.refuse("version", f"`version` is {version}; write version = {VERSION}")


def _root(table: Table, beside: str) -> str:
    """Read the folder that paths start from.

    An incident's rules name the project's folder, so that their sites are the same.
    """
    text = table.text("root")
    if text is None:
        return beside
    folder = os.path.normpath(os.path.join(beside, text))
    if not os.path.isdir(folder):
        table.refuse("root", f"`root` is `{text}`, and there is no such folder from here; name the project's")
    return folder


def _packs(table: Table) -> tuple[bool, tuple[str, ...]]:
    """Return whether the program's imports decide which packs apply, and the names that `packs` lists."""
    names = table.texts("packs") if "packs" in table else (AUTO,)
    known = pack_index()
    for index, name in enumerate(names):
        if name != AUTO and name not in known:
            where = (*table.path, "packs", index)
            table.source.refuse(where, f"there is no pack `{name}`{hint((AUTO, *known), name)}")
    return AUTO in names, tuple(dict.fromkeys(names))


def _disabled(table: Table, packs: tuple[str, ...]) -> tuple[str, ...]:
    """Read `disable`. Only the packs that an id may belong to are parsed, unless an id is unknown."""
    ids = table.texts("disable")
    for index, rule_id in enumerate(ids):
        pack_name = rule_id.partition(".")[0]
        if pack_name in packs and rule_id in _ids(load_pack(pack_name)):
            continue
        known = [known for name in packs for known in _ids(load_pack(name))]
        where = (*table.path, "disable", index)
        table.source.refuse(where, f"no pack in force has a rule `{rule_id}`{hint(known, rule_id)}")
    return ids


def _ids(pack: Pack) -> list[str]:
    return list(dict.fromkeys(rule.id for rule in pack.boundaries))


def _project(table: Table, folder: str) -> tuple[str, ...]:
    """Read the files and folders of the user's own code, as absolute paths.

    A missing one is refused, because the code that it was meant for would not be woven.
    """
    paths = []
    for index, text in enumerate(table.texts("project")):
        path = os.path.normpath(os.path.join(folder, text))
        if not os.path.exists(path):
            where = (*table.path, "project", index)
            beside = os.listdir(os.path.dirname(path)) if os.path.isdir(os.path.dirname(path)) else []
            remedy = hint([name for name in beside if not name.startswith(".")], os.path.basename(path))
            table.source.refuse(
                where, f"`project` has `{text}`, which isn't there{remedy if 'nearest' in remedy else ''}"
            )
        paths.append(path)
    return tuple(paths)


def _trace(table: Table) -> TraceRule:
    table.check_keys(("target",))
    text = table.required("target", "write module:qualname")
    return TraceRule(table.parsed("target", text, parse_target), table.place)


def _snapshot_tables(table: Table) -> list[Table]:
    """Return the [[snapshot]] tables; none if `snapshot` is a boolean."""
    if isinstance(table.values.get("snapshot", []), bool):
        return []
    return table.tables("snapshot", "[[snapshot]]")


def _snapshot(table: Table, folder: str) -> SnapshotRule:
    table.check_keys(("path",))
    path = table.required("path", "write a file, a folder or a glob, such as `pay.db`")
    place = os.path.normpath(os.path.join(folder, path))
    if os.path.lexists(place):
        mode = os.stat(place).st_mode if os.path.exists(place) else 0
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            table.refuse(
                "path", f"`path` `{path}` is no file and no folder, so it can't be kept; name a file"
            )
    return SnapshotRule(path, table.place)


_SAMPLE = "Paid 12.50 EUR to c-1 (ok)."


def _output(table: Table) -> OutputRule:
    import re  # lazy: few rule files have an [[output]]

    table.check_keys(("pattern", "reason"))
    pattern = table.required("pattern", "write a regular expression, such as `took [0-9.]+ s`")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        table.refuse("pattern", f"`pattern` `{pattern}` is no regular expression: {error}")
    if compiled.sub("", _SAMPLE).strip() == "":
        table.refuse(
            "pattern",
            f"`pattern` `{pattern}` fits every line, so nothing would be compared; name what varies",
        )
    return OutputRule(pattern, table.required("reason", "say why it may differ"), table.place)


def _redact(table: Table) -> RedactRule:
    if "redact" not in table:
        return RedactRule()
    from autochron.rules.redaction import read_redact  # lazy: few rule files have a [redact]

    return read_redact(table.table("redact", "[redact]"))


_EFFECTS = ("program", "host", "path")


def _effect(table: Table) -> EffectRule:
    table.check_keys((*_EFFECTS, "site", "reason"))
    keys = [name for name in _EFFECTS if name in table]
    if len(keys) != 1:
        problem = "has no" if not keys else "has more than one of"
        table.refuse(
            None,
            f'[[effect]] {problem} `program`, `host` or `path`; write one of them, such as `program = "git"`',
        )
    pattern = table.required(keys[0], "write a name or a glob")
    if not pattern.strip("*?/. "):
        table.refuse(keys[0], f"`{keys[0]}` `{pattern}` fits everything; name what the replay may allow")
    return EffectRule(
        reason=table.required("reason", "say why the replay may allow it"),
        place=table.place,
        site=read_site(table) if "site" in table else None,
        **{keys[0]: pattern},
    )


def _ignore(table: Table) -> IgnoreRule:
    table.check_keys(("call", "category", "site", "hash", "reason"))
    if "call" not in table and "category" not in table:
        table.refuse(
            None,
            "[[ignore]] has no `call`; write the call, such as `time.perf_counter()`, or a category, such as `clock`",
        )
    site = read_site(table)
    reason = table.required("reason", "say why the finding is accepted")
    return IgnoreRule(
        call=_ignored_call(table) if "call" in table else None,
        site=site,
        reason=reason,
        place=table.place,
        hash=read_hash(table),
        category=_category(table) if "category" in table else None,
    )


def _ignored_call(table: Table) -> str:
    call = table.required("call", "write the call, such as `time.perf_counter()`")
    if not is_dotted(call.partition("(")[0]) or ("(" in call and not call.endswith(")")):
        table.refuse("call", f"`call` `{call}` is not a call, such as `time.perf_counter()`")
    return call


def _category(table: Table) -> Category:
    name = table.required("category", "write one, such as `clock`")
    known = next((category for category in CATEGORIES if category == name), None)
    if known is None:
        table.refuse("category", f"`category` is `{name}`{hint(CATEGORIES, name)}")
    return known
