"""Watch a program for calls whose value the program doesn't determine: which, at which line, and how often.

Sources are patched in place, those of a module when it is imported. Sources with an audit event, such as `open` and
connections, need no patch.
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
"""The first source of each audit event."""

_OS_OPEN = BY_NAME["os.open"]

_WATCHING: list[SourceWatch | None] = [None]
"""The watch that receives audit events, as the only element."""

_registered = False


class SourceWatch:
    """Counts the calls of sources from `on` to `off`; used once."""

    def __init__(
        self,
        owns: Callable[[str], bool],
        name: Callable[[str], str],
        problem: Callable[[str], None],
        is_inside: Callable[[], bool],
        through: Callable[[SourceCount], Through | None] | None = None,
        answers: Callable[[Source], bool] | None = None,
    ) -> None:
        """Take what the watch has to know of the session.

        Args:
            owns: returns whether a file is the project's.
            name: returns the name of a file as findings have it.
            problem: is called once with a message if a fault of ours occurs.
            is_inside: returns whether a boundary is being crossed around the running code.
            through: returns how the calls of a line are made if their values are recorded or served, else None.
            answers: returns for which sources `through` may return something.
        """
        self._owns = owns
        self._name = name
        self._attribution = Attribution(owns, is_inside, problem, through, answers)
        self._patcher = Patcher(self._attribution)
        self._pending: dict[str, list[tuple[Source, str]]] = {}
        self._sources: set[Source] = set()
        self._is_on = False
        self._prepared: set[str] = set()
        """The modules whose functions that are no sources were patched: those of `_CARRIERS`, `SHIELDS` and `QUIET`."""

    def on(self, modules: Mapping[str, Any] | None = None, sources: Iterable[Source] = SOURCES) -> None:
        """Begin to watch. It may be called again for more sources.

        Args:
            modules: the modules that are patched now, by default `sys.modules`. Others are patched when `imported`
                names them.
            sources: the sources to watch.
        """
        modules = sys.modules if modules is None else modules
        for source in sources:
            if source not in self._sources:
                self._sources.add(source)
                for place in (*source.places, *source.discards):
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
        """Have a callable that is no source called through a hook.

        Args:
            place: the callable, as `module:qualname`.
            hook: takes the arguments of a call, and returns what makes the call instead, or None for a plain call.
        """
        self._attempt(self._patcher.stand_before, place, hook)

    def imported(self, name: str) -> None:
        """Patch the sources of a module that has just been imported, and of the modules of its package."""
        package = name.partition(".")[0]
        for module in list(self._pending):
            if module == name or (module.partition(".")[0] == package and _is_complete(module)):
                self._patch(module)

    def importing(self, name: str) -> None:
        """Put the originals back in their places while a module is imported that changes C functions in place."""
        if name in self._pending:
            self._attempt(lambda: self._patcher.turn(uncovered=True))

    def off(self) -> None:
        """Take every patch off. The counts stay."""
        _ignore(self)
        self._patcher.off()
        self._attribution.stop()

    def _patch(self, module: str) -> None:
        """Patch the sources of a module, once: the first caller takes them from `_pending`."""
        pending = self._pending.pop(module, None)
        if pending is None:
            return
        is_first = module not in self._prepared
        self._prepared.add(module)
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
        """Patch something; if that fails, report it and leave the place as it is."""
        try:
            patch(*arguments)
        except Exception as error:
            self._attribution.report_fault(error)

    def on_event(self, source: Source, event: str, arguments: tuple[Any, ...]) -> None:
        """Count the call that an audit event reports, unless its arguments make it harmless.

        Args:
            source: the source of the event.
            event: its name.
            arguments: those of the event, as `sys.addaudithook` passes them.
        """
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int) or _is_time_zone(path):
                return
            if mode is None:
                source = _OS_OPEN
                if flags & os.O_ACCMODE == os.O_WRONLY:
                    return
            elif only_writes(mode):
                return
        elif source.harmless and arguments and arguments[0] in source.harmless:
            return
        self._attribution.count_from_hook(source, 4)

    def count(self, source: Source, depth: int) -> None:
        """Count a call that a hook of `stand_before` saw.

        Args:
            source: the source.
            depth: how many frames out the call was made: 1 for the caller of this method.
        """
        self._attribution.count_from_hook(source, depth + 1)

    def forget(self) -> None:
        """Reset all counts to zero, in a process that was forked."""
        self._attribution.forget()

    def findings(self) -> list[Finding]:
        """Return the findings so far, sorted by site. Calls inside a boundary and calls outside are two findings.

        Readings of clocks that only serve durations in logs are left out, as in a scan, and calls whose values the program
        has determined itself. That is decided here because only the watch knows the paths of the files.
        """
        records = list(self._attribution.records())
        # Then a replay draws less than the recorded run did, and a seed determines nothing.
        is_drawn_inside = any(record.inside and record.source.category == "random" for record in records)
        return sorted(
            (
                self._finding(record, count, covered or ("harmless" if _is_harmless(record) else None))
                for record in records
                for count, covered in self._counts(record)
                if count and not _is_duration(record)
                if not (_is_excused(record) and not (is_drawn_inside and record.source.category == "random"))
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
        """Return the counts of a record outside and inside boundaries, each with what covers it."""
        outside: Covered | None = None if record.through is None else "recorded"
        return ((record.outside, outside), (record.inside, "boundary"))

    def review(self) -> None:
        """Ask again for each line whether its values are recorded."""
        self._attribution.review()


def _is_duration(record: SourceCount) -> bool:
    """Return whether a reading of a clock only reaches logs, by the source of its file."""
    call = record.source.call
    if record.tier != "direct" or call not in CLOCKS:
        return False
    # lazy: it imports `ast`, and this module is imported before every recorded program
    from autochron.detect.scan.durations import durations_of

    return (record.line, call) in durations_of(record.file)


def _is_harmless(record: SourceCount) -> bool:
    """Return whether the value of a call only reaches what changes nothing, by the source of its file."""
    if record.tier != "direct":
        return False
    from autochron.detect.scan.harmless_uses import FOLLOWED, harmless_of  # lazy: as above

    category = record.source.category
    return category in FOLLOWED and (record.line, category) in harmless_of(record.file)


def _is_excused(record: SourceCount) -> bool:
    """Return whether a call is determined by the program itself, by the source of its file."""
    if record.tier != "direct":
        return False
    from autochron.detect.scan.excused_lines import excused_of  # lazy: as above

    return (record.line, record.source.category) in excused_of(record.file)


def _is_complete(module: str) -> bool:
    """Return whether a module is imported completely: one that is still being imported may lack some of its names."""
    loaded = sys.modules.get(module)
    return loaded is not None and not getattr(getattr(loaded, "__spec__", None), "_initializing", False)


_CARRIERS: dict[str, tuple[str, tuple[int, ...]]] = {
    "threading:Thread.__init__": ("note_made", (0,)),
    "threading:Thread.start": ("note_thread", (0,)),
    "concurrent.futures.thread:_WorkItem.__init__": ("note_made", (0,)),
    "asyncio.events:Handle.__init__": ("note_handle", (0, 1)),
    "asyncio.base_events:BaseEventLoop.create_task": ("note_task", (1,)),
}
"""Functions that hand something over to be called elsewhere.

Each has the method of `Attribution` that notes it, and the indices of the parameters that the method takes.
"""


def _is_time_zone(path: object) -> bool:
    """Return whether a file holds a time zone. C code reads these, with no frame of a library between."""
    zoneinfo = sys.modules.get("zoneinfo")
    folders = getattr(zoneinfo, "TZPATH", ())
    return isinstance(path, str) and any(path.startswith(f"{folder}/") for folder in folders)


def _listen(watch: SourceWatch) -> None:
    """Send audit events to this watch."""
    global _registered  # noqa: PLW0603 - listeners belong to the process
    _WATCHING[0] = watch
    if not _registered:
        _registered = True
        audit.listen(_hook, {"import", *_EVENTS})
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forget)


def _ignore(watch: SourceWatch) -> None:
    """Send no more audit events to this watch."""
    if _WATCHING[0] is watch:
        _WATCHING[0] = None


def _hook(
    event: str,
    arguments: tuple[Any, ...],
    # As defaults, these exist even while the interpreter clears its modules at exit.
    events: Mapping[str, Source] = _EVENTS,
    watching: list[SourceWatch | None] = _WATCHING,
    changing: Mapping[str, Any] = CHANGING,
) -> None:
    """Pass an audit event on to the current watch."""
    source = events.get(event)
    if event == "import" and arguments[0] in changing:
        watch = watching[0]
        if watch is not None:
            watch.importing(arguments[0])
    elif source is not None:
        watch = watching[0]
        if watch is not None:
            try:
                watch.on_event(source, event, arguments)
            except Exception:  # noqa: S110 - an error here would fail the audited call
                pass


def _forget() -> None:
    watch = _WATCHING[0]
    if watch is not None:
        watch.forget()
