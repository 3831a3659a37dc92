"""Write the rules that record harmful values, and try the trace again with them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct, structs

from autochron._runtime.unpatched import os
from autochron.config import RULE_FILE
from autochron.model import Impact, ImpactFix, Impacts
from autochron.report.impact import recording_rule
from autochron.rules.editing import replace_rules, with_tables


def add_rules(impacts: Impacts, rule_file: str | None, folder: str) -> ImpactFix:
    """Add a rule for each harmful value that can be recorded.

    Args:
        impacts: the result without these rules.
        rule_file: the file to add them to; None to make one.
        folder: the folder in which the command was started.

    Raises:
        RuleError: the file can't be written, or would not load with the rules. Then nothing was changed.
    """
    harmful = [site for site in impacts.sites if site.effect is not None]
    tables = list(dict.fromkeys(filter(None, map(recording_rule, harmful))))
    path = rule_file or os.path.join(folder, RULE_FILE)
    if not tables:
        return ImpactFix(file=path, added=0, left=tuple(map(_named, harmful)))
    _, content = with_tables(path, tables)
    replace_rules(path, content, os.path.dirname(os.path.abspath(path)))
    return ImpactFix(file=path, added=len(tables))


def tried(
    fixed: ImpactFix, folder: str, arguments: Sequence[str], environment: Mapping[str, str]
) -> ImpactFix:
    """Perturb what is left in a process that has the new rules, and return what that showed.

    Args:
        fixed: the rules that were added.
        folder: the folder in which the command was started.
        arguments: those of the command, without `--fix` and `--json`.
        environment: the variables that the command was started with.
    """
    answer = subprocess.run(
        [sys.executable, "-m", "autochron", "impact", "--json", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    try:
        after = msgspec.json.decode(answer.stdout, type=_After)
    except msgspec.DecodeError:
        said = answer.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        problem = said.removeprefix("autochron: ") or f"the process ended with status {answer.returncode}"
        return structs.replace(fixed, problem=problem)
    left = tuple(_named(site) for site in after.sites if site.effect is not None)
    return structs.replace(fixed, left=left, replays=after.replays)


class _After(Struct):
    """The part of the command's JSON that is asked for."""

    sites: list[Impact]
    replays: int


def _named(site: Impact) -> str:
    return f"{site.site} {site.call}"
