"""What `autochron adopt` says: the differences, what was done, and what is refused."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterator

from autochron._runtime.unpatched import os
from autochron.adopt.adoption import Adoption
from autochron.escaping import terminal_lines
from autochron.report.text import plural


def differences(adoption: Adoption) -> str:
    """Return a unified diff of all files that change."""
    parts: list[str] = []
    for change in adoption.changes:
        parts += _difference(change.source.text, change.text, change.source.path)
    if adoption.changes_rules:
        parts += _difference(adoption.rules_before, adoption.rules_after, os.path.relpath(adoption.rule_file))
    return terminal_lines("".join(parts))


def _difference(before: str, after: str, path: str) -> Iterator[str]:
    old, new = (text.replace("\r\n", "\n").splitlines(keepends=True) for text in (before, after))
    for line in difflib.unified_diff(old, new, f"a/{path}" if before else "/dev/null", f"b/{path}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def summary(adoption: Adoption, *, is_check: bool) -> str:
    """Return what changed, or would change, a line for each file, with what the user should know."""
    if not adoption.changes and not adoption.changes_rules:
        return "nothing to adopt: no mark of Chronicle's\n"
    lines = [f"{change.source.path}: {plural(change.marks, 'mark')} taken out" for change in adoption.changes]
    file = os.path.relpath(adoption.rule_file)
    lines.append(f"{file}: {plural(len(adoption.tables), 'table')} added")
    lines += [f"note: {note}" for note in adoption.notes]
    if is_check:
        lines.append("nothing was changed; leave --check out to write it")
    return terminal_lines("\n".join(lines) + "\n")


def refusal(adoption: Adoption) -> str:
    """Return what can't be taken over, and how to take over the rest."""
    refused = dict.fromkeys(adoption.refused_files)
    lines = [f"{plural(len(refused), 'file')} can't be taken over, so nothing was changed:"]
    lines += [f"  {refusal}" for refusal in adoption.refusals]
    good = [file for file in adoption.good_files if file not in refused]
    if good:
        lines.append(f"these can be: autochron adopt {shlex.join(good)}")
    return "\n".join(lines)
