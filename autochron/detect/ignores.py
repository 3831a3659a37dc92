"""What a project's `[[ignore]]` tables make of findings, and which of them are for nothing any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from autochron._runtime.unpatched import os
from autochron.detect.catalogue import BY_NAME
from autochron.detect.line_hash import hash_of, source_lines
from autochron.model import AmbientRule, Finding, IgnoreRule, Rules


def ignored(
    findings: Sequence[Finding], rules: Rules, looked: Callable[[str], bool]
) -> tuple[list[Finding], list[str]]:
    """Mark the findings that are meant to be there; gives also one line for each ignore that is stale.

    `looked` tells of a file, named as sites are, whether all that is in it would be among the findings.
    """
    marked = list(findings)
    stale: list[str] = []
    for rule in rules.ignores:
        file, reason, lines = meant_by(rule, rules.root)
        used = False
        for at, finding in enumerate(marked):
            if (
                finding.site.file == file
                and _fits(rule, finding)
                and (lines is None or finding.site.line in lines)
            ):
                used = True
                marked[at] = msgspec.structs.replace(finding, covered="ignored")
        if not used and reason is None and looked(file):
            what = f"`{rule.call or rule.category}`"
            reason = f"{rule.site} has no {what} to ignore"
        if not used and reason is not None:
            stale.append(
                f"{rule.place}: [[ignore]] is stale: {reason}; correct it or take it out (stale-ignore)"
            )
    return marked, stale


def meant_by(rule: IgnoreRule | AmbientRule, root: str) -> tuple[str, str | None, set[int] | None]:
    """Return the file of a rule's site as sites have it, and the lines that are meant, or why there are none.

    None for the lines is the whole file.
    """
    path, line = _split(rule.site)
    file = os.path.normpath(path).replace(os.sep, "/")
    return file, *_lines(rule, os.path.join(root, file), file, line)


def _split(site: str) -> tuple[str, int | None]:
    path, colon, line = site.rpartition(":")
    return (path, int(line)) if colon else (site, None)


def _lines(
    rule: IgnoreRule | AmbientRule, path: str, file: str, line: int | None
) -> tuple[str | None, set[int] | None]:
    """Return the lines that are meant, or why there are none; None for the whole file."""
    if not os.path.isfile(path):
        return f"there is no file {file}", set()
    if line is None and rule.hash is None:
        return None, None
    texts = source_lines(path)
    texts = texts[:-1] if texts and not texts[-1] else texts
    if rule.hash is None:
        assert line is not None  # noqa: S101 - a site without a line and a hash was dealt with
        return (None, {line}) if line <= len(texts) else (f"{file} has only {len(texts)} lines", set())
    alike = [number for number, text in enumerate(texts, 1) if _is_same(hash_of(text), rule.hash)]
    if not alike:
        return f"{file} has no line with the hash {rule.hash}", set()
    if line is None:
        return None, set(alike)
    return None, {min(alike, key=lambda number: (abs(number - line), number))}


def _is_same(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _fits(rule: IgnoreRule, finding: Finding) -> bool:
    if rule.category is not None and rule.category != finding.category:
        return False
    if rule.call is None:
        return True
    name = rule.call.partition("(")[0]
    source = BY_NAME.get(name)
    return name in (finding.call, finding.via) or (source is not None and source.call == finding.call)
