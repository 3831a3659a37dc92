"""Read a project's rule file: `autochron.toml`, or `[tool.autochron]` in `pyproject.toml`."""

from __future__ import annotations

import stat

from autochron._runtime.unpatched import os
from autochron.config import PROJECT_FILE
from autochron.errors import RuleError
from autochron.model import (
    CATEGORIES,
    EffectRule,
    IgnoreRule,
    OutputRule,
    Pack,
    RedactRule,
    Rules,
    SnapshotRule,
    SourceRule,
    TraceRule,
)
from autochron.rules.ambients import RECORDED, is_ambient, read_ambient, read_categories, read_category
from autochron.rules.boundaries import read_boundaries
from autochron.rules.nearest import hint
from autochron.rules.packs import load_pack, pack_index
from autochron.rules.selectors import is_dotted, parse_target
from autochron.rules.sites import read_hash, read_site
from autochron.rules.tables import Table, TableKey, parse_toml, type_name
from autochron.rules.text import read_text

VERSION = 1
"""The version of the rule file's format."""

AUTO = "auto"
KEYS = {
    "version": TableKey("integer", "the version of this format", is_required=True),
    "root": TableKey("text", "the folder that paths start from; by default the file's own"),
    "packs": TableKey(
        "texts", 'the shipped packs; `["auto"]`, the default, takes up each whose library is imported'
    ),
    "project": TableKey(
        "texts", "files and folders of your own code; by default the program's folder and this one"
    ),
    "disable": TableKey("texts", "ids of rules of packs that are switched off, such as `openai.images`"),
    "children": TableKey("flag", "whether the processes that the program starts are recorded with it"),
    "ambient": TableKey("texts", "which values that your code asks for are recorded and served", RECORDED),
    "stderr": TableKey("flag", "whether standard error is recorded and compared as well"),
    "find": TableKey("flag", "whether tools are found that a model call declares and no rule names"),
    "boundary": TableKey("tables", "what is recorded and served", table="boundary"),
    "trace": TableKey("tables", "functions each of whose calls is a trace of its own", table="trace"),
    "source": TableKey("tables", "calls of your own that are non-deterministic", table="source"),
    "ignore": TableKey("tables", "non-deterministic calls that are meant to be there", table="ignore"),
    "snapshot": TableKey(
        "flag or tables", "files whose state before the run is kept; `false` keeps none", table="snapshot"
    ),
    "effect": TableKey("tables", "effects outside every boundary that a replay allows", table="effect"),
    "output": TableKey("tables", "parts of the standard output that are not compared", table="output"),
    "redact": TableKey("table", "secrets of your own", table="redact"),
}
TRACE_KEYS = {"target": TableKey("text", "the function: `module:qualname`", is_required=True)}
SNAPSHOT_KEYS = {
    "path": TableKey("text", "a file, a folder or a glob, from the rules' folder", is_required=True)
}
OUTPUT_KEYS = {
    "pattern": TableKey(
        "text",
        "a regular expression; what it matches in a line of the output is not compared",
        is_required=True,
    ),
    "reason": TableKey("text", "why it may differ", is_required=True),
}
_SITE = "a file of the project, or a line of one as `path:line`"
EFFECT_SUBJECTS = {
    "program": TableKey("text", "the name of a program, or a glob"),
    "host": TableKey("text", "a host, `host:port`, or a glob"),
    "path": TableKey("text", "a file that is then not compared, or a glob"),
}
EFFECT_KEYS = {
    **EFFECT_SUBJECTS,
    "site": TableKey("text", f"the place of the effect: {_SITE}"),
    "reason": TableKey("text", "why a replay may allow it", is_required=True),
}
IGNORE_KEYS = {
    "call": TableKey("text", "the call, such as `time.perf_counter()`"),
    "category": TableKey("text", "the category of the call, in place of `call` or with it", CATEGORIES),
    "site": TableKey("text", f"the place of the call: {_SITE}", is_required=True),
    "hash": TableKey(
        "text", "the hash of the line, or its first 8 digits, by which it is found where it has moved"
    ),
    "reason": TableKey("text", "why the call is accepted", is_required=True),
}


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
    table.check_keys(KEYS)
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
        sources=_sources(table),
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
    table.check_keys(TRACE_KEYS)
    text = table.required("target", "write module:qualname")
    return TraceRule(table.parsed("target", text, parse_target), table.place)


def _sources(table: Table) -> tuple[SourceRule, ...]:
    if "source" not in table:
        return ()
    from autochron.rules.sources import read_source  # lazy: few rule files have a [[source]]

    return tuple(read_source(inner) for inner in table.tables("source", "[[source]]"))


def _snapshot_tables(table: Table) -> list[Table]:
    """Return the [[snapshot]] tables; none if `snapshot` is a boolean."""
    if isinstance(table.values.get("snapshot", []), bool):
        return []
    return table.tables("snapshot", "[[snapshot]]")


def _snapshot(table: Table, folder: str) -> SnapshotRule:
    table.check_keys(SNAPSHOT_KEYS)
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

    table.check_keys(OUTPUT_KEYS)
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


def _effect(table: Table) -> EffectRule:
    table.check_keys(EFFECT_KEYS)
    keys = [name for name in EFFECT_SUBJECTS if name in table]
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
    table.check_keys(IGNORE_KEYS)
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
        category=read_category(table) if "category" in table else None,
    )


def _ignored_call(table: Table) -> str:
    call = table.required("call", "write the call, such as `time.perf_counter()`")
    if not is_dotted(call.partition("(")[0]) or ("(" in call and not call.endswith(")")):
        table.refuse("call", f"`call` `{call}` is not a call, such as `time.perf_counter()`")
    return call
