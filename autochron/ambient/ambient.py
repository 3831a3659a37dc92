"""Ambient values: record the values that lines of the project get from clocks and random generators, and serve them again.

Each value is a crossing of its own, of kind `ambient`, so it has a lane, a parent, an order and a count as any crossing. Only
calls in lines of the project are recorded and served: with a served clock, a library's timers would never be due.

Recorded are the sources that the rules ask for. A replay also serves the other lines of which the trace has values.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from autochron._runtime.own_frames import drop_frames, unchanged
from autochron._runtime.unpatched import os
from autochron.ambient.synthesis import Inventor
from autochron.crossing.crossing import Crossing, is_inside
from autochron.crossing.kernel import report_problem
from autochron.crossing.lanes import CURRENT, Remote
from autochron.detect.ambient_codec import (
    PLAIN,
    SEEDED,
    Draw,
    SourceForm,
    compared_arguments,
    draw_of,
    form_of,
    random_bits,
)
from autochron.detect.ambient_rules import RequestedValues
from autochron.detect.catalogue import BY_NAME, Source
from autochron.detect.project_sources import all_sources
from autochron.detect.watch.counters import SourceCount as Line
from autochron.detect.watch.counters import Through
from autochron.detect.watch.watch import SourceWatch
from autochron.model import VALUE, BoundaryRule, Place, Rules, Target
from autochron.replaying.running import Running
from autochron.replaying.unrecorded import CAP
from autochron.store.threads import count_hidden
from autochron.weaving.gate import GATE, Point

if TYPE_CHECKING:
    from autochron.ports import Record
    from autochron.project import Project

_SECRETS = ("secrets.", "os.urandom", "os.getrandom", "ssl.RAND_bytes")


class Key(NamedTuple):
    """A line that asked for values, as a trace identifies it."""

    call: str
    file: str
    qualname: str


class Values:
    """The ambient values of one set of rules, recorded or served while these rules are active."""

    alters = False
    """Whether `altered` may return another value than the recorded one."""

    def __init__(self, rules: Rules, project: Project) -> None:
        self.requested = RequestedValues(rules)
        self._rules = rules
        self._is_alone: Callable[[], bool] = _is_never
        self._project = project
        self.watch = SourceWatch(
            project.owns, project.name, report_problem, is_inside, self._through, self.answers
        )
        self._keys: frozenset[Key] = frozenset()
        """The lines of which the replayed trace has values, without those that today's rules name."""
        self._calls: dict[Line, _LineCalls] = {}
        self.inventor: Inventor | None = None
        """Makes up values in the current replay; None while recording."""
        self._invents = False
        """Whether the replay makes up values for all lines of the project of which the trace has none."""

    def begin(self) -> None:
        """Patch the sources that the rules ask for."""
        if "clock" in self._rules.ambient:
            self.watch.stand_before("time:sleep", self._sleep)
        self.watch.on(sources=self.requested.sources())

    def answers(self, source: Source) -> bool:
        """Return whether the values of a source can be served or made up."""
        return form_of(source) is not None

    def altered(self, line: Line, draw: Draw, kept: Any) -> Any:
        """Return the value to serve for a recorded one: here the same; `impact` varies it."""
        return kept

    def record(self) -> None:
        """Begin a recording: reset the counts, and serve and make up nothing."""
        self.inventor = None
        self._invents = False
        self._hold(frozenset())

    def invent(self) -> None:
        """Make up values for all lines of the project of which the replayed trace has none, without crossings.

        This makes a test independent of the day: clocks show the time of the trace, and random values come from a seed that
        the trace determines.
        """
        self._invents = True
        self.watch.on(
            sources=[
                source
                for source in all_sources(self._rules)
                if source.category in _INVENTED and form_of(source)
            ]
        )
        self.watch.review()

    def replay(self, record: Record, reached: Callable[[], int], is_alone: Callable[[], bool]) -> None:
        """Begin to serve a trace.

        Args:
            record: the trace.
            reached: returns how far into the trace the replay is, in nanoseconds since its beginning.
            is_alone: returns whether the replay has started no process.
        """
        self._is_alone = is_alone
        self.inventor = Inventor(record.header, reached)
        self._hold(self._recorded(record) if record.header.ambient else frozenset())

    def _recorded(self, record: Record) -> frozenset[Key]:
        """Return the lines of a trace's values, without those that a table of today's rules names."""
        keys = [
            key_of(crossed.name, crossed.site, self.requested.known)
            for crossed in record.boundaries()
            if crossed.kind == "ambient"
        ]
        return frozenset(
            key for key in keys if key is not None and not self.requested.names(key.call, key.file)
        )

    def _hold(self, keys: frozenset[Key]) -> None:
        for calls in self._calls.values():
            calls.count = 0
        if keys == self._keys:
            return
        self._keys = keys
        names = {key.call for key in keys}
        self.watch.on(sources=[self.requested.known[name] for name in names if name in self.requested.known])
        self.watch.review()

    def _sleep(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Through | None:
        """Return the way a sleep takes: `_pass_over` if a replay can skip it, None if it has to sleep.

        A replay whose clocks are all served skips sleeps outside live crossings. It has to sleep where the program may be
        waiting for another thread, an event loop, a process or a signal.
        """
        is_plain = not kwargs and len(args) == 1 and type(args[0]) in {int, float} and args[0] >= 0
        if self.inventor is None or GATE[0] is None or not is_plain or is_live():
            return None
        asyncio, signal = sys.modules.get("asyncio"), sys.modules.get("signal")
        may_race = (
            _thread._count() > count_hidden()  # noqa: SLF001 - the threads that Python started, besides the main one
            or not self._is_alone()
            or (asyncio is not None and asyncio._get_running_loop() is not None)  # noqa: SLF001
            or (signal is not None and _waits_for(signal))
        )
        return None if may_race else _pass_over

    def _through(self, line: Line) -> Through | None:
        """Return the way that the calls of a line take; None if their values are neither recorded, served nor made up."""
        source = line.source
        form = form_of(source)
        if form is None:
            return None
        file = self._project.name(line.file)
        is_requested = self.requested.includes(source, file, line.line)
        if not is_requested and Key(source.call, file, line.qualname) not in self._keys:
            return self._invented(line, form, f"{file}:{line.line}") if self._invents else None
        calls = self._calls.get(line)
        if calls is None:
            rule = self.requested.rule_of(source, file, line.line)
            point = _point(line, file, None if rule is None else rule.name)
            calls = self._calls[line] = _LineCalls(self, line, form, point, f"{file}:{line.line}")
        return calls.through

    def _invented(self, line: Line, form: SourceForm, at: str) -> Through | None:
        """Return the way that the calls of a line take if their values are made up."""
        call, name = line.source.call, f"{line.source.call}@{line.qualname}"

        def through(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            inventor, draw = self.inventor, None
            is_invented = inventor is not None and GATE[0] is not None
            if is_invented and form is not PLAIN:
                draw = draw_of(form, original, args, kwargs)
            try:
                if inventor is None or not is_invented:
                    return original(*args, **kwargs)
                if form is PLAIN:
                    return inventor.replacement(call, original, at, name)(*args, **kwargs)
                if draw is None:
                    return original(*args, **kwargs)
                source = random_bits if call in SEEDED else original
                return draw.rebuild(draw.draw(inventor.replacement(call, source, at, name)))
            except BaseException as error:
                drop_frames(error)
                raise

        return through


_INVENTED = frozenset({"clock", "random", "uuid"})
"""Categories of sources whose values can be made up; a trace determines no others."""


def _is_never() -> bool:
    return False


def _waits_for(signal: Any) -> bool:
    """Return whether a timer is set whose signal may interrupt a sleep."""
    return hasattr(signal, "getitimer") and signal.getitimer(signal.ITIMER_REAL)[0] > 0


def _pass_over(*_: Any) -> None:
    """Return at once instead of sleeping."""


class _LineCalls:
    """The calls of one line. `through` is a closure, since closed-over variables are faster than attributes."""

    __slots__ = ("_at", "_call", "_line", "_owner", "_point", "count", "through")

    def __init__(self, owner: Values, line: Line, form: SourceForm, point: Point, at: str) -> None:
        self._owner = owner
        self._call = line.source.call
        self._line = line
        self._point = point
        self._at = at
        self.count = 0
        self.through: Through = self._plain() if form is PLAIN and not owner.alters else self._encoded(form)

    def _plain(self) -> Through:
        """Return the way of calls whose value is recorded as it is. Most are, so the call needs no `Draw`."""
        point, owner, call, is_kept = self._point, self._owner, self._call, self._is_kept

        def through(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            enter, inventor, token = GATE[0], owner.inventor, None
            if enter is not None and (inventor is not None or is_kept()):
                token = enter(point, compared_arguments(args, kwargs))
            if token is not None and not token:
                error, kept = token.outcome()
                if error is not None:
                    with unchanged(error):
                        raise error
                if inventor is not None:
                    inventor.served(call, kept)
                return kept
            if inventor is not None and token is not None:
                original = _replacement(inventor, call, original, token)
            try:
                kept = original(*args, **kwargs)
            except BaseException as error:
                drop_frames(error)
                if token is not None:
                    token.raised(error)
                raise
            return kept if token is None else token.returned(kept)

        return through

    def _encoded(self, form: SourceForm) -> Through:
        """Return the way of calls of which an encoded value is recorded, such as the bits that were drawn."""
        point, owner, call = self._point, self._owner, self._call

        def through(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            enter, inventor, token = GATE[0], owner.inventor, None
            draw = None if enter is None else draw_of(form, original, args, kwargs)
            if enter is not None and draw is not None and (inventor is not None or self._is_kept()):
                token = enter(point, draw.compared)
            source = random_bits if call in SEEDED else original
            if token and inventor is not None:
                source = _replacement(inventor, call, source, token)
            try:
                if draw is None or token is None:
                    return original(*args, **kwargs)
                if not token:
                    return self._served(token, draw, source)
                kept = draw.draw(source)
            except BaseException as error:
                drop_frames(error)
                if token:
                    token.raised(error)
                raise
            kept = token.returned(kept)
            try:
                return draw.rebuild(kept)
            except BaseException as error:
                drop_frames(error)
                raise

        return through

    def _served(self, serving: Any, draw: Draw, source: Callable[..., Any]) -> Any:
        error, kept = serving.outcome()
        if error is not None:
            with unchanged(error):
                raise error
        if self._owner.inventor is not None:
            self._owner.inventor.served(self._call, kept)
        try:
            return draw.rebuild(self._owner.altered(self._line, draw, kept))
        except (IndexError, ValueError, TypeError):
            # The call has other arguments than the recorded one, which the replay has reported.
            inventor = self._owner.inventor
            if inventor is not None:
                source = inventor.replacement(self._call, source, self._at, self._point.qualname)
            return draw.rebuild(draw.draw(source))

    def _is_kept(self) -> bool:
        """Count a value during a recording; return whether to record it."""
        self.count = count = self.count + 1
        if count > CAP:
            if count == CAP + 1:
                report_problem(
                    f"{self._call} at {self._at}: {CAP:,} values are recorded, and no more; make what polls a boundary, or"
                    " [[ignore]] the call (ambient-cap)"
                )
            return False
        if count == 1 and self._call.startswith(_SECRETS):
            report_problem(
                f"{self._call} at {self._at} gives a secret, which is recorded as it is, or a replay would not be the same;"
                " [[ignore]] the call if no trace may have it (ambient-secret)"
            )
        return True


def _replacement(inventor: Inventor, call: str, source: Callable[..., Any], token: Any) -> Callable[..., Any]:
    """Return the source, or the function to call in its place if the replay makes up this crossing's value."""
    running = token.record
    if type(running) is Running and running.mode == "invented":
        return inventor.replacement(call, source, token.root.lane, token.name)
    return source


def _point(line: Line, file: str, name: str | None) -> Point:
    call, stem = line.source.call, os.path.splitext(os.path.basename(line.file))[0]
    form = form_of(line.source)
    assert form is not None  # noqa: S101 - its values are recorded
    where = stem if line.qualname == "<module>" else f"{stem}.{line.qualname}"
    rule = BoundaryRule(
        id=f"{VALUE}{call}",
        name=name or f"{call}@{where}",
        kind="ambient",
        selector=Target(stem, line.qualname),
        place=Place(file, line.line),
        changes=(),
    )
    point = Point(stem, line.qualname, form.parameters, file=line.file, line=line.line, rules=(rule,))
    point.called = call  # else it would count as the function of that line, which may be swapped or have traces of its own
    return point


def is_live() -> bool:
    """Return whether the innermost open crossing is live in a replay."""
    current = CURRENT.get(None)
    crossing = current if current is None or type(current) is Crossing else current.parent
    if type(crossing) is Remote:
        return crossing.live
    running = None if crossing is None else crossing.record
    return type(running) is Running and running.mode == "live"


def key_of(name: str, site: str, known: Collection[str] = BY_NAME) -> Key | None:
    """Return the key of a value's line, from the value's name and site; None if a rule gave the value another name.

    Args:
        name: the name of the value's crossing.
        site: its site.
        known: the dotted names of the sources.
    """
    call, at, _ = name.partition("@")
    file, colon, qualname = site.removeprefix("@").rpartition(":")
    return Key(call, file, qualname) if at and colon and site.startswith("@") and call in known else None
