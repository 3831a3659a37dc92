"""Watch a program for calls whose value isn't determined by it: which, at which line, and how often.

Sources are patched in place, those of a module when it is imported. What audit events tell of, such as `open` and
connections, needs no patch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from autochron._runtime import audit
from autochron._runtime.unpatched import os
from autochron.detect.catalogue import BY_NAME, CHANGING, CLOCKS, QUIET, SHIELDS, SOURCES, Source
from autochron.detect.line_hash import line_hash
from autochron.detect.watch.attribution import Attribution
from autochron.detect.watch.counters import SourceCount, Through
from autochron.detect.watch.patches import Patcher, only_writes
from autochron.model import Covered, Finding, Site

_EVENTS: dict[str, Source] = {event: source for source in reversed(SOURCES) for event in source.events}
"""The first source that an event tells of."""

_OS_OPEN = BY_NAME["os.open"]

_WATCHING: list[SourceWatch | None] = [None]
"""Who is told of audit events."""

_registered = False


class SourceWatch:
    """Watches from `on` to `off`; used once.

    `owns` tells whether a file is the project's, `name` gives it as findings have it, `problem` is told of a fault of ours
    once, and `is_inside` tells whether a boundary is being crossed around what runs.
    """

    def __init__(
        self,
        owns: Callable[[str], bool],
        name: Callable[[str], str],
        problem: Callable[[str], None],
        is_inside: Callable[[], bool],
        through: Callable[[SourceCount], Through | None] | None = None,
        answers: Callable[[Source], bool] | None = None,
    ) -> None:
        """Take `through`, which gives how the calls of a line go where their values are recorded or served.

        `answers` tells of which sources that may be.
        """
        self._owns = owns
        self._name = name
        self._attribution = Attribution(owns, is_inside, problem, through, answers)
        self._patcher = Patcher(self._attribution)
        self._pending: dict[str, list[tuple[Source, str]]] = {}
        self._sources: set[Source] = set()
        self._is_on = False
        self._begun: set[str] = set()
        """The modules in which what is no source was patched."""

    def on(self, modules: Mapping[str, Any] | None = None, sources: Iterable[Source] = SOURCES) -> None:
        """Begin to watch: what is imported now (`sys.modules`), and the rest as `imported` tells of it.

        It may be called again for more `sources`.
        """
        modules = sys.modules if modules is None else modules
        for source in sources:
            if source not in self._sources:
                self._sources.add(source)
                for place in (*source.places, *source.forsaken):
                    self._pending.setdefault(place.partition(":")[0], []).append((source, place))
        for name in (*_CARRIERS, *SHIELDS, *QUIET, *CHANGING) if not self._is_on else ():
            self._pending.setdefault(name.partition(":")[0], [])
        self._is_on = True
        for name in [name for name in self._pending if name in modules and _is_complete(name)]:
            self._patch(name)
        for module in list(modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and self._owns(file):
                self._patcher.adopt(module)
        _listen(self)

    def stand_before(self, place: str, hook: Callable[..., Any]) -> None:
        """Have what is no source called through what a hook gives: given its arguments, what calls it instead, or None."""
        self._attempt(self._patcher.stand_before, place, hook)

    def imported(self, name: str) -> None:
        """Patch what a module that has just been imported brought with it."""
        package = name.partition(".")[0]
        for module in list(self._pending):
            if module == name or (module.partition(".")[0] == package and _is_complete(module)):
                self._patch(module)

    def importing(self, name: str) -> None:
        """Have every source stand at its place again while a module is imported that changes functions of C in place."""
        if name in self._pending:
            self._attempt(lambda: self._patcher.turn(uncovered=True))

    def off(self) -> None:
        """Take every patch off; what was counted stays."""
        _ignore(self)
        self._patcher.off()
        self._attribution.stop()

    def _patch(self, module: str) -> None:
        """Patch what a module has, once: whoever takes it from what is pending does it."""
        pending = self._pending.pop(module, None)
        if pending is None:
            return
        is_first = module not in self._begun
        self._begun.add(module)
        for place in SHIELDS if is_first else ():
            if place.startswith(f"{module}:"):
                self._attempt(self._patcher.shield, place)
        for place in QUIET if is_first else ():
            if place.startswith(f"{module}:"):
                self._attempt(self._patcher.quiet, place)
        if module in CHANGING:
            self._patcher.turn(uncovered=False)
            for place in CHANGING[module]:
                self._attempt(self._patcher.uncover, place)
        for source, place in pending:
            self._attempt(self._patcher.put, source, place)
        for place, (method, parameters) in _CARRIERS.items() if is_first else ():
            if place.startswith(f"{module}:"):
                self._attempt(self._patcher.carry, place, getattr(self._attribution, method), parameters)

    def _attempt(self, patch: Callable[..., Any], *arguments: Any) -> None:
        """Patch, or leave it as it is and tell of that."""
        try:
            patch(*arguments)
        except Exception as error:
            self._attribution.tell(error)

    def heard(self, source: Source, event: str, arguments: tuple[Any, ...]) -> None:
        """Count what an audit event tells of."""
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int) or _is_of_zones(path):
                return
            if mode is None:
                source = _OS_OPEN
                if flags & os.O_ACCMODE == os.O_WRONLY:
                    return
            elif only_writes(mode):
                return
        elif source.harmless and arguments and arguments[0] in source.harmless:
            return
        self._attribution.told(source, 4)

    def counted(self, source: Source, depth: int) -> None:
        """Count a call that a hook saw (`stand_before`): whoever calls this is at depth 1, and outward."""
        self._attribution.told(source, depth + 1)

    def forget(self) -> None:
        """Count from zero, in a process that was forked."""
        self._attribution.forget()

    def findings(self) -> list[Finding]:
        """Return what was found so far, by place. What ran inside a boundary and what ran outside stand apart.

        Clocks that are read for durations in logs are left out, as a scan does: no other place knows the files themselves.
        """
        return sorted(
            (
                self._finding(record, count, covered)
                for record in self._attribution.records()
                for count, covered in self._counts(record)
                if count and not _is_duration(record)
            ),
            key=lambda finding: (finding.site.file, finding.site.line, finding.call, finding.via or ""),
        )

    def _finding(self, record: SourceCount, count: int, covered: Covered | None) -> Finding:
        return Finding(
            site=Site(
                self._name(record.file), record.line, record.qualname, line_hash(record.file, record.line)
            ),
            category=record.source.category,
            call=record.source.call,
            count=count,
            tier=record.tier,
            via=record.via,
            covered=covered,
        )

    @staticmethod
    def _counts(record: SourceCount) -> tuple[tuple[int, Covered | None], ...]:
        outside: Covered | None = None if record.through is None else "recorded"
        return ((record.outside, outside), (record.inside, "boundary"))

    def review(self) -> None:
        """Ask anew of each line whether its values are recorded."""
        self._attribution.review()


def _is_duration(record: SourceCount) -> bool:
    """Return whether the source shows that only a log gets to see this reading of a clock."""
    call = record.source.call
    if record.tier != "direct" or call not in CLOCKS:
        return False
    # Only here: this imports `ast`, and stands before every recorded program.
    from autochron.detect.scan.durations import durations_of

    return (record.line, call) in durations_of(record.file)


def _is_complete(module: str) -> bool:
    """Return whether a module is imported, and not just being imported: what it will have may not be there yet."""
    there = sys.modules.get(module)
    return there is not None and not getattr(getattr(there, "__spec__", None), "_initializing", False)


_CARRIERS: dict[str, tuple[str, tuple[int, ...]]] = {
    "threading:Thread.__init__": ("note_made", (0,)),
    "threading:Thread.start": ("note_thread", (0,)),
    "concurrent.futures.thread:_WorkItem.__init__": ("note_made", (0,)),
    "asyncio.events:Handle.__init__": ("note_handle", (0, 1)),
    "asyncio.base_events:BaseEventLoop.create_task": ("note_task", (1,)),
}
"""Functions by which something is handed over to be called elsewhere, what notes it, and of which parameters."""


def _is_of_zones(path: object) -> bool:
    """Return whether a file holds a time zone: what is made in C reads it, with no frame of a library between."""
    zoneinfo = sys.modules.get("zoneinfo")
    folders = getattr(zoneinfo, "TZPATH", ())
    return isinstance(path, str) and any(path.startswith(f"{folder}/") for folder in folders)


def _listen(watch: SourceWatch) -> None:
    """Have audit events told to this watch."""
    global _registered  # noqa: PLW0603 - listeners belong to the process
    _WATCHING[0] = watch
    if not _registered:
        _registered = True
        audit.listen(_hook, {"import", *_EVENTS})
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forget)


def _ignore(watch: SourceWatch) -> None:
    if _WATCHING[0] is watch:
        _WATCHING[0] = None


def _hook(
    event: str,
    arguments: tuple[Any, ...],
    # At hand even while the interpreter takes its modules apart.
    events: Mapping[str, Source] = _EVENTS,
    watching: list[SourceWatch | None] = _WATCHING,
    changing: Mapping[str, Any] = CHANGING,
) -> None:
    source = events.get(event)
    if event == "import" and arguments[0] in changing:
        watch = watching[0]
        if watch is not None:
            watch.importing(arguments[0])
    elif source is not None:
        watch = watching[0]
        if watch is not None:
            try:
                watch.heard(source, event, arguments)
            except Exception:  # noqa: S110 - what an audit hook raises fails the call that it was told of
                pass


def _forget() -> None:
    watch = _WATCHING[0]
    if watch is not None:
        watch.forget()
