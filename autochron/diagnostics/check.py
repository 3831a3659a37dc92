"""`autochron check`: the calls that escape a record, without running anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from autochron import __version__
from autochron._runtime.unpatched import os
from autochron.detect.ambient_rules import mark_recorded
from autochron.detect.ignores import ignored
from autochron.detect.line_hash import hash_of
from autochron.detect.scan.cache import Cache, key_of
from autochron.detect.scan.scan import ScannedCall, scan
from autochron.diagnostics.rule_survey import compiled
from autochron.errors import RuleError, UsageError
from autochron.matching.derived_classes import matcher_for
from autochron.matching.matcher import Found
from autochron.model import Category, Checked, Finding, Rules, Site, Unread
from autochron.project import Project, module_names, python_files, read_source


def check(
    paths: Sequence[str], rules: Rules, *, categories: Collection[Category] = (), cache: str | None = None
) -> Checked:
    """Scan files and folders.

    Args:
        paths: as they were given; a file that is named is read whatever its name.
        rules: what is a boundary, and what is ignored.
        categories: those that are asked for; none for all.
        cache: the folder in which what was found is kept.

    Raises:
        UsageError: a path isn't there.
        RuleError: two rules claim one definition.
    """
    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"autochron check: there is no {path}; name files or folders")
    kept = Cache(cache)
    named = tuple(os.path.abspath(path) for path in paths)
    work = _Work(rules, named, kept)
    for path in dict.fromkeys(os.path.abspath(path) for path in _files(paths)):
        work.file(path)
    work.refuse_bad_rules()
    kept.write()
    findings, stale = ignored(work.findings, rules, work.read.__contains__)
    findings, gone = mark_recorded(findings, rules)
    stale += gone
    if categories:
        findings = [finding for finding in findings if finding.category in categories]
        stale = []  # an ignore may be for a category that isn't asked for
    return Checked(
        findings=tuple(findings),
        unread=tuple(work.unread),
        stale=tuple(stale),
        files=len(work.read) + len(work.unread),
        lines=work.lines,
        autochron=__version__,
    )


def _files(paths: Iterable[str]) -> Iterable[str]:
    for path in paths:
        yield from [path] if os.path.isfile(path) else python_files((path,))


class _Work:
    """One check."""

    def __init__(self, rules: Rules, named: tuple[str, ...], cache: Cache) -> None:
        self._rules = rules
        self._ruled = Project(rules.project or tuple(filter(None, [rules.root])), rules.root)
        self._project = Project((*named, *self._ruled.paths), rules.root)
        self._cache = cache
        self._matcher = matcher_for(rules, self._project)
        self.findings: list[Finding] = []
        self.unread: list[Unread] = []
        self.read: set[str] = set()
        self._matched: set[str] = set()
        self.lines = 0

    def file(self, path: str) -> None:
        """Scan a file, or take what was found in it before."""
        name, source = self._project.name(path), read_source(path)
        if source is None:
            self.unread.append(Unread(name, 1, "can't be read"))
            return
        self.lines += source.count(b"\n")
        package = package_of(path)
        key = key_of(source, package)
        seen = self._cache.get(key)
        if seen is None:
            try:
                seen = scan(source, package)
            except SyntaxError as error:
                self.unread.append(Unread(name, error.lineno or 1, f"doesn't parse ({error.msg})"))
                return
            except (RecursionError, MemoryError):
                self.unread.append(Unread(name, 1, "is nested too deeply to be read"))
                return
            except ValueError as error:
                self.unread.append(Unread(name, 1, f"doesn't parse ({error})"))
                return
            self._cache.put(key, seen)
        self.read.add(name)
        if seen:
            self._add(path, name, source, seen)

    def _add(self, path: str, name: str, source: bytes, seen: list[ScannedCall]) -> None:
        woven, called = self._boundaries(path, source)
        texts = texts_of(source)
        for each in seen:
            text = texts[each.line - 1] if each.line <= len(texts) else ""
            last = each.call.rpartition(".")[2]
            is_covered = any(function in woven for function in each.within) or any(
                line == each.line and callee.rpartition(".")[2] in (last, each.call)
                for line, callee in called
            )
            self.findings.append(
                Finding(
                    site=Site(name, each.line, each.qualname, hash_of(text)),
                    category=each.category,
                    call=each.call,
                    count=0,
                    tier=each.tier,
                    via=each.via,
                    ran=False,
                    covered="boundary" if is_covered else None,
                )
            )

    def refuse_bad_rules(self) -> None:
        """Refuse rules that some module of the project can't be run with, whatever files were named: RuleError."""
        for path in map(os.path.abspath, _files(self._ruled.paths)):
            is_new = path not in self._matched and self._ruled.owns(path)
            if is_new and (source := read_source(path)) is not None:
                self._match(path, source)

    def _match(self, path: str, source: bytes) -> Found | None:
        """Return what rules fit in a file; None where none do, or it doesn't parse."""
        self._matched.add(path)
        names = self._project.names_of(path)
        if not any(self._matcher.may_match(name, is_project=True) for name in (*names, "__main__")):
            return None
        code = compiled(path)
        if code is None:
            return None
        try:
            return self._matcher.find(names[0], code, source, is_project=True, aliases=names[1:])
        except RuleError:
            if self._ruled.owns(path):
                raise
            return None  # a file that was named, of which it isn't known whether rules concern it

    def _boundaries(self, path: str, source: bytes) -> tuple[set[tuple[str, int]], list[tuple[int, str]]]:
        """Return the functions of a file that are boundaries whatever they are called with, and the calls that are."""
        found = self._match(path, source)
        if found is None:
            return set(), []
        functions = {(match.qualname, match.firstlineno) for match in found.matches if not match.rule.when}
        sites = [(site, site.rule.selector) for site in found.calls if not site.rule.when]
        return functions, [(site.line, _callee(str(selector), site.source)) for site, selector in sites]


def _callee(pattern: str, source: str) -> str:
    """Name what a pattern of a call calls, where it spells that out; else as the source does."""
    name = pattern.partition("(")[0]
    return name if name.replace(".", "").replace("_", "").isalnum() else source


def package_of(path: str) -> str:
    """Return the package that relative imports of a file start from."""
    module = module_names(path)[0]
    return module if os.path.basename(path) == "__init__.py" else module.rpartition(".")[0]


def texts_of(source: bytes) -> list[str]:
    """Return the lines of a source."""
    # As Python counts lines: not at form feeds, as splitlines of a str does.
    return source.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode("utf-8", "surrogateescape").split("\n")
