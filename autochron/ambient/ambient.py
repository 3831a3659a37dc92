"""Ambient values: what lines of the project ask of clocks and of chance is recorded, and served again.

Each value is a crossing of its own, of kind `ambient`, so that lanes, parents, order and counts are those of crossings. Only
what a line of the project asks itself is: a library's clock is never held, or its timers would never be due.

In force are the sources that the rules ask for; and while a trace is replayed that has values of more lines, those of these.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from autochron._runtime.unpatched import os
from autochron.ambient.synthesis import Inventor
from autochron.crossing.crossing import Crossing, is_inside
from autochron.crossing.kernel import report_problem
from autochron.crossing.lanes import CURRENT, Remote
from autochron.detect.ambient_codec import PLAIN, SEEDED, Draw, SourceForm, form_of, given, random_bits
from autochron.detect.ambient_rules import RequestedValues
from autochron.detect.catalogue import BY_NAME, SOURCES, Source
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
    """What a trace says of the lines that values were asked on."""

    call: str
    file: str
    qualname: str


class Values:
    """The ambient values of one set of rules, while they are woven."""

    alters = False
    """Whether `altered` may give something else than what was recorded."""

    def __init__(self, rules: Rules, project: Project) -> None:
        self.asked = RequestedValues(rules)
        self._rules = rules
        self._is_alone: Callable[[], bool] = _is_never
        self._project = project
        self.watch = SourceWatch(
            project.owns, project.name, report_problem, is_inside, self._through, self.answers
        )
        self._keys: frozenset[Key] = frozenset()
        """What the trace that is replayed has, beyond what is asked for."""
        self._made: dict[Line, _Crossing] = {}
        self.inventor: Inventor | None = None
        """Of the replay that is under way."""
        self._invents = False
        """Whether the replay makes up the values of every line of the project that the trace has none of."""

    def begin(self) -> None:
        """Put on the patches of what is asked for."""
        if "clock" in self._rules.ambient:
            self.watch.stand_before("time:sleep", self._sleep)
        self.watch.on(sources=self.asked.sources())

    def answers(self, source: Source) -> bool:
        """Return whether a source's value may come from elsewhere than the source."""
        return form_of(source) is not None

    def altered(self, line: Line, draw: Draw, kept: Any) -> Any:
        """Return what is served in the place of what was recorded: that itself."""
        return kept

    def record(self) -> None:
        """Begin to record: what was counted belongs to another trace."""
        self.inventor = None
        self._invents = False
        self._hold(frozenset())

    def invent(self) -> None:
        """Make up the values of every line of the project that the replayed trace has none of, without a crossing of its own.

        For a test that is to come out the same on any day: its clocks show the time of the trace, and chance comes from a
        seed of it.
        """
        self._invents = True
        self.watch.on(
            sources=[source for source in SOURCES if source.category in _INVENTED and form_of(source)]
        )
        self.watch.review()

    def replay(self, record: Record, reached: Callable[[], int], is_alone: Callable[[], bool]) -> None:
        """Begin to serve a trace.

        `reached` gives how far into it the replay is, in nanoseconds; `is_alone` tells whether no process was started.
        """
        self._is_alone = is_alone
        self.inventor = Inventor(record.header, reached)
        self._hold(self._recorded(record) if record.header.ambient else frozenset())

    def _recorded(self, record: Record) -> frozenset[Key]:
        """Return the lines of a trace's values that no table of today's rules means better."""
        found = [key_of(each.name, each.site) for each in record.boundaries() if each.kind == "ambient"]
        return frozenset(key for key in found if key is not None and not self.asked.names(key.call, key.file))

    def _hold(self, keys: frozenset[Key]) -> None:
        for crossing in self._made.values():
            crossing.count = 0
        if keys == self._keys:
            return
        self._keys = keys
        calls = {key.call for key in keys}
        self.watch.on(sources=[BY_NAME[call] for call in calls if call in BY_NAME])
        self.watch.review()

    def _sleep(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Through | None:
        """Return how a sleep goes: in a replay, outside what is live, nobody waits for time to pass.

        Where all clocks of the project are served. Not where another thread, an event loop, a process or a signal may be
        waited for.
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
        """Return how a line's calls go; None where their values are not asked for."""
        source = line.source
        form = form_of(source)
        if form is None:
            return None
        file = self._project.name(line.file)
        is_asked = self.asked.asks(source, file, line.line)
        if not is_asked and Key(source.call, file, line.qualname) not in self._keys:
            return self._invented(line, form, f"{file}:{line.line}") if self._invents else None
        made = self._made.get(line)
        if made is None:
            rule = self.asked.rule_of(source, file, line.line)
            point = _point(line, file, None if rule is None else rule.name)
            made = self._made[line] = _Crossing(self, line, form, point, f"{file}:{line.line}")
        return made.through

    def _invented(self, line: Line, form: SourceForm, at: str) -> Through | None:
        """Return how the calls of a line go whose values are made up."""
        call, name = line.source.call, f"{line.source.call}@{line.qualname}"

        def through(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            inventor = self.inventor
            if inventor is None or GATE[0] is None:
                return original(*args, **kwargs)
            if form is PLAIN:
                return inventor.instead(call, original, at, name)(*args, **kwargs)
            try:
                draw = form.apart(original, args, kwargs)
            except Exception:  # of the arguments' own; the source says it better
                draw = None
            if draw is None:
                return original(*args, **kwargs)
            source = random_bits if call in SEEDED else original
            return draw.made(draw.draw(inventor.instead(call, source, at, name)))

        return through


_INVENTED = frozenset({"clock", "random", "uuid"})
"""What is made up: of the rest the trace says nothing."""


def _is_never() -> bool:
    return False


def _waits_for(signal: Any) -> bool:
    """Return whether a timer is set whose signal may end a sleep."""
    return hasattr(signal, "getitimer") and signal.getitimer(signal.ITIMER_REAL)[0] > 0


def _pass_over(*_: Any) -> None:
    """Sleep no time."""


class _Crossing:
    """How the calls of one line go. What its functions close over is at hand faster than attributes are."""

    __slots__ = ("_at", "_call", "_line", "_owner", "_point", "count", "through")

    def __init__(self, owner: Values, line: Line, form: SourceForm, point: Point, at: str) -> None:
        self._owner = owner
        self._call = line.source.call
        self._line = line
        self._point = point
        self._at = at
        self.count = 0
        self.through: Through = self._plain() if form is PLAIN and not owner.alters else self._apart(form)

    def _plain(self) -> Through:
        """Return how a call goes whose value is kept as it is: most are, so nothing is made for it."""
        point, owner, call, is_kept = self._point, self._owner, self._call, self._is_kept

        def through(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            enter, inventor = GATE[0], owner.inventor
            if enter is None or (inventor is None and not is_kept()):
                return original(*args, **kwargs)
            token = enter(point, given(args, kwargs))
            if token is None:
                return original(*args, **kwargs)
            if not token:
                error, kept = token.outcome()
                if error is not None:
                    raise error
                if inventor is not None:
                    inventor.served(call, kept)
                return kept
            if inventor is not None:
                original = _instead(inventor, call, original, token)
            try:
                kept = original(*args, **kwargs)
            except BaseException as error:
                token.raised(error)
                raise
            return token.returned(kept)

        return through

    def _apart(self, form: SourceForm) -> Through:
        """Return how a call goes of which something else is kept than its value."""
        point, owner, call = self._point, self._owner, self._call

        def through(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            enter, inventor = GATE[0], owner.inventor
            if enter is None:
                return original(*args, **kwargs)
            try:
                draw = form.apart(original, args, kwargs)
            except Exception:  # of the arguments' own; the source says it better
                draw = None
            if draw is None or (inventor is None and not self._is_kept()):
                return original(*args, **kwargs)
            token = enter(point, draw.given)
            if token is None:
                return original(*args, **kwargs)
            source = random_bits if call in SEEDED else original
            if not token:
                return self._served(token, draw, source)
            if inventor is not None:
                source = _instead(inventor, call, source, token)
            try:
                kept = draw.draw(source)
            except BaseException as error:
                token.raised(error)
                raise
            return draw.made(token.returned(kept))

        return through

    def _served(self, serving: Any, draw: Draw, source: Callable[..., Any]) -> Any:
        error, kept = serving.outcome()
        if error is not None:
            raise error
        if self._owner.inventor is not None:
            self._owner.inventor.served(self._call, kept)
        try:
            return draw.made(self._owner.altered(self._line, draw, kept))
        except (IndexError, ValueError, TypeError):  # it was asked for something else, which has been told
            inventor = self._owner.inventor
            if inventor is not None:
                source = inventor.instead(self._call, source, self._at, self._point.qualname)
            return draw.made(draw.draw(source))

    def _is_kept(self) -> bool:
        """Count a value that is asked for while recording; tell whether it is recorded."""
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


def _instead(inventor: Inventor, call: str, source: Callable[..., Any], token: Any) -> Callable[..., Any]:
    """Return what is called in the place of a source where its value is to be made up."""
    running = token.record
    if type(running) is Running and running.mode == "invented":
        return inventor.instead(call, source, token.root.lane, token.name)
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
    point.called = call  # or it would pass for the function that the line is in, which may be swapped or a trace of its own
    return point


def is_live() -> bool:
    """Return whether the innermost open crossing is live in a replay."""
    current = CURRENT.get(None)
    crossing = current if current is None or type(current) is Crossing else current.parent
    if type(crossing) is Remote:
        return crossing.live
    running = None if crossing is None else crossing.record
    return type(running) is Running and running.mode == "live"


def key_of(name: str, site: str) -> Key | None:
    """Read off a value's name and site which lines it was asked on; None where it has a name of its own."""
    call, at, _ = name.partition("@")
    file, colon, qualname = site.removeprefix("@").rpartition(":")
    return Key(call, file, qualname) if at and colon and site.startswith("@") and call in BY_NAME else None
