"""Apply the `[[ignore]]` tables and the comments of a project to findings, and report those that do not fit the source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from autochron._runtime.unpatched import os
from autochron.detect.catalogue import BY_NAME
from autochron.detect.comment_ignores import comment_ignores
from autochron.detect.line_hash import hash_of, source_lines
from autochron.model import AmbientRule, Finding, IgnoreRule, Rules
from autochron.project import path_of


def ignored(
    findings: Sequence[Finding],
    rules: Rules,
    is_complete: Callable[[str], bool],
    commented: Collection[str] = (),
) -> tuple[list[Finding], list[str]]:
    """Mark the findings that an `[[ignore]]` table or a comment covers.

    Args:
        findings: what a run or a scan found.
        rules: the rules with the tables.
        is_complete: returns whether all sources in a file, named as in sites, would be among the findings.
        commented: files that have comments for us and maybe no finding; those of findings are read in any case.

    Returns:
        All findings, and one message for each table or comment that is stale or wrong: its file or line is gone, nothing
        there needs ignoring, or it does not say what it ignores.
    """
    marked = list(findings)
    stale: list[str] = []
    for rule in rules.ignores:
        file, reason, lines = meant_by(rule, rules.root)
        used = False
        for index, finding in enumerate(marked):
            if (
                finding.site.file == file
                and _fits(rule, finding)
                and (lines is None or finding.site.line in lines)
            ):
                used = True
                marked[index] = msgspec.structs.replace(finding, covered="ignored")
        if not used and reason is None and is_complete(file):
            shown = f"`{rule.call or rule.category}`"
            reason = f"{rule.site} has no {shown} to ignore"
        if not used and reason is not None:
            stale.append(
                f"{rule.place}: [[ignore]] is stale: {reason}; correct it or take it out (stale-ignore)"
            )
    files = dict.fromkeys([*(finding.site.file for finding in findings), *commented])
    for file in files:
        stale += _ignore_by_comments(marked, file, rules.root, is_complete=is_complete(file))
    return marked, stale


def _ignore_by_comments(marked: list[Finding], file: str, root: str, *, is_complete: bool) -> list[str]:
    """Mark the findings of a file that a comment in it covers; return a message for each comment that is stale or wrong."""
    messages = []
    for comment in comment_ignores(path_of(root, file)):
        if comment.fault is not None:
            messages.append(
                f"{file}:{comment.place}: this comment ignores nothing: {comment.fault} (stale-ignore)"
            )
            continue
        unused = set(comment.rules)
        for index, finding in enumerate(marked):
            site = finding.site
            if (
                site.file == file
                and comment.first <= site.line <= comment.last
                and finding.category in comment.rules
            ):
                unused.discard(finding.category)
                if finding.covered is None:
                    marked[index] = msgspec.structs.replace(finding, covered="ignored")
        if is_complete and unused:
            shown = ", ".join(sorted(unused))
            messages.append(
                f"{file}:{comment.place}: the comment is stale: line {comment.last} has nothing of {shown} to ignore;"
                " correct it or take it out (stale-ignore)"
            )
    return messages


def meant_by(rule: IgnoreRule | AmbientRule, root: str) -> tuple[str, str | None, set[int] | None]:
    """Find the file and the lines that a rule's site means.

    Args:
        rule: a rule with a site `file` or `file:line`, and maybe the hash of a line.
        root: the folder that the site is relative to.

    Returns:
        The file as sites name it, the reason why no line fits or None, and the lines: None for the whole file, empty if
        none fits.
    """
    path, line = _split(rule.site)
    file = os.path.normpath(path).replace(os.sep, "/")
    return file, *_lines(rule, path_of(root, file), file, line)


def _split(site: str) -> tuple[str, int | None]:
    """Split a site into its path and its line, which may be missing."""
    path, colon, line = site.rpartition(":")
    return (path, int(line)) if colon else (site, None)


def _lines(
    rule: IgnoreRule | AmbientRule, path: str, file: str, line: int | None
) -> tuple[str | None, set[int] | None]:
    """Return the reason why no line fits or None, and the lines, as `meant_by` does."""
    if not os.path.isfile(path):
        return f"there is no file {file}", set()
    if line is None and rule.hash is None:
        return None, None
    texts = source_lines(path)
    texts = texts[:-1] if texts and not texts[-1] else texts
    if rule.hash is None:
        assert line is not None  # noqa: S101 - a site without line and hash has returned above
        return (None, {line}) if line <= len(texts) else (f"{file} has only {len(texts)} lines", set())
    matches = [number for number, text in enumerate(texts, 1) if _same_hash(hash_of(text), rule.hash)]
    if not matches:
        return f"{file} has no line with the hash {rule.hash}", set()
    if line is None:
        return None, set(matches)
    return None, {min(matches, key=lambda number: (abs(number - line), number))}


def _same_hash(digest: str, wanted: str) -> bool:
    """Return whether two hashes agree as far as the shorter one goes: a rule may shorten its hash."""
    return digest.startswith(wanted) or wanted.startswith(digest)


def _fits(rule: IgnoreRule, finding: Finding) -> bool:
    """Return whether a finding has the category or the call of an `[[ignore]]` table."""
    if rule.category is not None and rule.category != finding.category:
        return False
    if rule.call is None:
        return True
    name = rule.call.partition("(")[0]
    source = BY_NAME.get(name)
    return name in (finding.call, finding.via) or (source is not None and source.call == finding.call)
