"""`autochron check`: find the non-deterministic calls that no boundary covers, without running anything."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from autochron import __version__
from autochron._runtime.unpatched import os
from autochron.detect.ambient_rules import mark_recorded
from autochron.detect.ignores import ignored
from autochron.detect.line_hash import hash_of
from autochron.detect.scan.cache import Cache, key_of
from autochron.detect.scan.destinations import ReachedPlace
from autochron.detect.scan.found_calls import ScannedCall, ScannedPlace
from autochron.detect.scan.scan import scan
from autochron.detect.scan.source_lookup import SourceLookup
from autochron.detect.stale_sources import stale_sources
from autochron.diagnostics.importable_programs import importable
from autochron.diagnostics.ranking import Boundaries
from autochron.diagnostics.rule_survey import compiled
from autochron.errors import RuleError, UsageError
from autochron.matching.derived_classes import matcher_for
from autochron.matching.matcher import ModuleMatches
from autochron.matching.sites import CallSite
from autochron.model import Category, Checked, Finding, Rules, Site, Unread
from autochron.project import Project, package_of, path_of, python_files, read_source, texts_of
from autochron.rules.packs import pack_index

_OBJECTS = 2_000_000
"""How many objects may be left before the garbage collector runs. A module of 1,000 lines makes some 50,000, and nearly all
are gone with its scan."""


def check(
    paths: Sequence[str],
    rules: Rules,
    *,
    categories: Collection[Category] = (),
    cache: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Checked:
    """Scan files and folders for non-deterministic calls.

    Args:
        paths: files and folders. A file is read whatever its suffix; of a folder, its Python files.
        rules: the rules in force: boundaries, recorded ambient values and ignores.
        categories: the categories to report; none for all.
        cache: the folder of the cache; None for no cache.
        progress: called after each file, with the number of files that were read, and of all.

    Raises:
        UsageError: a path doesn't exist.
        RuleError: two rules claim one definition.
    """
    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"autochron check: there is no {path}; name files or folders")
    scans = Cache(cache)
    named = tuple(os.path.abspath(path) for path in paths)
    work = _Check(rules, named, scans)
    with _rare_collections():
        files = list(dict.fromkeys(os.path.abspath(path) for path in _files(paths)))
        for done, path in enumerate(files, 1):
            work.file(path)
            if progress is not None:
                progress(done, len(files))
    work.refuse_bad_rules()
    scans.write()
    work.rank()
    findings, stale = ignored(work.findings, rules, work.read.__contains__, work.commented)
    findings, stale_ambient = mark_recorded(findings, rules)
    stale += [*stale_ambient, *stale_sources(rules), *_silent_examples(rules)]
    findings = [
        msgspec.structs.replace(finding, covered="harmless")
        if finding.covered is None
        and (finding.site.file, finding.site.line, finding.category) in work.harmless
        else finding
        for finding in findings
    ]
    findings = _without_packs(findings, rules)
    if categories:
        findings = [finding for finding in findings if finding.category in categories]
        stale = []  # an ignore may be for a category that isn't reported
    return Checked(
        root=rules.root,
        findings=tuple(findings),
        unread=tuple(work.unread),
        stale=tuple(stale),
        files=len(work.read) + len(work.unread),
        lines=work.lines,
        read=frozenset(work.read),
        autochron=__version__,
    )


def _without_packs(findings: list[Finding], rules: Rules) -> list[Finding]:
    """Return findings in which those on the libraries of packs are covered, since the packs record them."""
    modules = {module.partition(".")[0] for module in _modules_of_packs(rules)}
    return [
        msgspec.structs.replace(finding, covered="recorded") if _is_of_pack(finding, modules) else finding
        for finding in findings
    ]


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Have the garbage collector run rarely: syntax trees are many objects, and few of them stay."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _modules_of_packs(rules: Rules) -> Iterable[str]:
    """Return the modules of the packs that are in force, or will be once they are imported."""
    if rules.auto:
        return [module for modules in pack_index().values() for module in modules]
    return [module for pack in rules.packs for module in pack.modules]


def _is_of_pack(finding: Finding, modules: Collection[str]) -> bool:
    """Return whether a library reads variables that a replay restores, because its pack names them."""
    return (
        finding.covered is None
        and finding.category == "env"
        and finding.via is not None
        and finding.via.partition(".")[0] in modules
    )


def _silent_examples(rules: Rules) -> list[str]:
    """Return one message for each `[[source]]` table in whose example nothing is found."""
    messages = []
    for rule in rules.sources:
        try:
            found = rule.example is None or scan(rule.example, "", SourceLookup((rule,)))
        except (SyntaxError, ValueError, RecursionError) as error:
            messages.append(f"{rule.place}: the example of [[source]] doesn't parse ({error}) (stale-source)")
            continue
        if not found or (isinstance(found, list) and rule.category not in {call.category for call in found}):
            messages.append(
                f"{rule.place}: the example of [[source]] doesn't call {rule.calls[0]}; correct it or take it out"
                " (stale-source)"
            )
    return messages


def _files(paths: Iterable[str]) -> Iterable[str]:
    for path in paths:
        yield from [path] if os.path.isfile(path) else python_files((path,))


class _Check:
    """One run of the check."""

    def __init__(self, rules: Rules, named: tuple[str, ...], cache: Cache) -> None:
        """Take the rules, the absolute paths that were named, and the cache."""
        self._rules = rules
        self._ruled = Project(rules.project or tuple(filter(None, [rules.root])), rules.root)
        self._project = Project((*named, *self._ruled.paths), rules.root)
        self._cache = cache
        self._lookup = SourceLookup(rules.sources)
        self._matcher = matcher_for(rules, self._project)
        self.findings: list[Finding] = []
        self.unread: list[Unread] = []
        self.read: set[str] = set()
        self.harmless: set[tuple[str, int, Category]] = set()
        """The file, line and category of calls whose value only reaches what changes nothing."""
        self.commented: list[str] = []
        """The files with comments that may be for us."""
        self._matched: set[str] = set()
        self._boundaries_known = Boundaries()
        self._reached: list[tuple[ReachedPlace, ...]] = []
        """What the value of each finding may reach, in the order of the findings."""
        self.lines = 0

    def file(self, path: str) -> None:
        """Scan a file, or take its findings from the cache."""
        name = self._project.name(path)
        # A pipe would be waited for.
        source = read_source(path) if os.path.isfile(path) else None
        if source is None:
            self.unread.append(Unread(name, 1, "can't be read"))
            return
        self.lines += source.count(b"\n")
        package = package_of(path)
        key = key_of(source, package, self._lookup.digest)
        calls = self._cache.get(key)
        if calls is None:
            try:
                calls = scan(source, package, self._lookup)
            except SyntaxError as error:
                self.unread.append(Unread(name, error.lineno or 1, f"doesn't parse ({error.msg})"))
                return
            except (RecursionError, MemoryError):
                self.unread.append(Unread(name, 1, "is nested too deeply to be read"))
                return
            except ValueError as error:
                self.unread.append(Unread(name, 1, f"doesn't parse ({error})"))
                return
            self._cache.put(key, calls)
        self.read.add(name)
        if b"autochron:" in source:
            self.commented.append(name)
        if calls:
            self._add(path, name, source, calls)

    def _add(self, path: str, name: str, source: bytes, calls: list[ScannedCall]) -> None:
        """Add the calls of a file as findings, covered if they are in a boundary or are one."""
        functions, sites = self._boundaries(path, source)
        texts = texts_of(source)
        for call in calls:
            text = texts[call.line - 1] if call.line <= len(texts) else ""
            escaping = [place for place in call.places if not _is_covered(place, functions, sites)]
            # A read of its own is told before that of a library, which a pack may have recorded.
            shown = min(escaping or call.places, key=lambda place: place.via is not None)
            if call.is_harmless:
                self.harmless.add((name, call.line, call.category))
            self._reached.append(call.reached)
            self.findings.append(
                Finding(
                    site=Site(name, call.line, shown.qualname, hash_of(text)),
                    category=call.category,
                    call=call.call,
                    count=0,
                    tier=shown.tier,
                    via=shown.via,
                    ran=False,
                    covered=None if escaping else "boundary",
                    reads=call.reads,
                )
            )

    def rank(self) -> None:
        """Set what the value of each finding may reach, once the boundaries of all files are known."""
        self._boundaries_known.importable = self._importable()
        self.findings = [
            msgspec.structs.replace(
                finding, reaches=self._boundaries_known.destination(finding.site.file, reached)
            )
            for finding, reached in zip(self.findings, self._reached, strict=True)
        ]

    def _importable(self) -> set[str]:
        """Return the names of the programs that another file may import, of those for which it matters."""
        programs = {
            finding.site.file
            for finding, reached in zip(self.findings, self._reached, strict=True)
            if any(one.kind == "public" for one in reached) and not any(one.matters for one in reached)
        }
        paths = {path_of(self._project.root, name): name for name in programs}
        return {paths[path] for path in importable(paths, self._project.paths)}

    def refuse_bad_rules(self) -> None:
        """Match the rules against all modules of the project, also those that are not checked.

        Raises:
            RuleError: two rules claim one definition.
        """
        for path in map(os.path.abspath, _files(self._ruled.paths)):
            is_new = path not in self._matched and self._ruled.owns(path) and os.path.isfile(path)
            if is_new and (source := read_source(path)) is not None:
                self._match(path, source)

    def _match(self, path: str, source: bytes) -> ModuleMatches | None:
        """Return what the rules match in a file; None if nothing can match, or the file doesn't parse."""
        self._matched.add(path)
        names = self._project.names_of(path)
        if not any(self._matcher.may_match(name, is_project=True) for name in (*names, "__main__")):
            return None
        code = compiled(path)
        if code is None:
            return None
        try:
            matches = self._matcher.find(names[0], code, source, is_project=True, aliases=names[1:])
        except RuleError:
            if self._ruled.owns(path):
                raise
            return None  # the file is not of the project, so the rules may not be meant for it
        self._boundaries_known.add(self._project.name(path), matches)
        return matches

    def _boundaries(self, path: str, source: bytes) -> tuple[set[tuple[str, int]], list[CallSite]]:
        """Return the unconditional boundaries of a file: rules with a `when` are left out.

        Returns:
            The functions, by qualified name and first line, and the bound calls.
        """
        matches = self._match(path, source)
        if matches is None:
            return set(), []
        functions = {(match.qualname, match.firstlineno) for match in matches.matches if not match.rule.when}
        return functions, [site for site in matches.calls if not site.rule.when]


def _is_covered(place: ScannedPlace, functions: set[tuple[str, int]], sites: Iterable[CallSite]) -> bool:
    """Return whether a place is in a boundary, or its call is one.

    A bound call is told by its position: another call on the line may have the same name. Where the callee is checked as the
    program runs, the bound call covers only what the check looks for.
    """
    if any(function in functions for function in place.within):
        return True
    return place.callee is not None and any(
        place.callee in site.callee and site.check in (None, place.name) for site in sites
    )
