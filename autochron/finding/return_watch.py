"""Find tools by value: watch the project's functions between a model's answer and the request that carries the results.

A function that gets the arguments of a call that the model asked for may be its tool. It crosses at once, and the crossing is
held. It is kept if what the function returned is in the result that the model gets, and dropped otherwise.

This takes `sys.monitoring`, which Python 3.12 brought. It is on only while a call of an unknown tool is under way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from autochron._runtime import unpatched
from autochron._runtime.bare import identity
from autochron._runtime.frame_locals import locals_of
from autochron._runtime.signals import is_interruption
from autochron._runtime.unpatched import getframe
from autochron.crossing.crossing import BUSY
from autochron.crossing.lanes import CURRENT
from autochron.finding.argument_match import takes_call
from autochron.finding.called_tools import CalledTools, OpenCall, is_inside
from autochron.instrument.found_functions import points_of
from autochron.model import BoundaryRule
from autochron.weaving.gate import Point

if TYPE_CHECKING:
    from autochron.finding.decisions import Decisions
    from autochron.project import Project

CAN_WATCH = sys.version_info >= (3, 12)
"""Whether this Python can tell of calls and returns."""

_TOOL = 4
"""Our id among the tools of `sys.monitoring`. No well-known tool has it."""

_MOST_TURNS = 3
"""How often the calls of one tool are watched without success."""

_GENERATOR = 0x20 | 0x200


class ReturnWatch:
    """Watches for the functions of unknown tools in one session.

    Attributes:
        opening: by thread, the rule of the function that is about to cross, and the call that it may answer.
        project: whose functions are watched.
        known: the tools that are not watched any more: found, covered by a rule, or watched in vain.
        frames: the token of each function that crosses now, by the identity of its frame.
        report: called with a problem on our side, in one line.
        has_watched: whether calls were watched, and nothing kept that from going on.
    """

    def __init__(
        self,
        called: CalledTools,
        decisions: Decisions,
        project: Project,
        make_point: Callable[[str, CodeType, str], Point | None],
        report: Callable[[str], None],
    ) -> None:
        """Make one.

        Args:
            called: the calls that the models have asked for.
            decisions: drops a crossing that can't be followed.
            project: whose functions are watched.
            make_point: returns the point of a function that may be a tool, from the tool, its code and its module; None if it
                can't cross.
            report: called with a problem on our side, in one line.
        """
        self.report = report
        self._called = called
        self._decisions = decisions
        self.project = project
        self._make_point = make_point
        self._points: dict[tuple[str, int], Point | None] = {}
        self._codes: list[CodeType] = []
        self.frames: dict[int, Any] = {}
        self._unknown: dict[str, int] = {}
        """By tool: how often its calls were watched."""
        self.known: set[str] = set()
        self.opening: dict[int, tuple[BoundaryRule, OpenCall]] = {}
        self._lock = unpatched.RLock()
        self._kernel: Any = None
        self.has_watched = False

    def asked(self, kernel: Any, tools: Iterable[str]) -> None:
        """Watch for the functions of tools that a model has asked for, and that nothing is known of."""
        unknown = {name for name in tools if name not in self.known}
        with self._lock:
            for name in unknown:
                self._unknown[name] = self._unknown.get(name, 0) + 1
                if self._unknown[name] > _MOST_TURNS:
                    self.known.add(name)
        self._kernel = kernel
        if unknown - self.known:
            _watches[kernel] = self
            self.has_watched = _switch_on()

    def settle(self) -> None:
        """Stop watching unless a call of an unknown tool, or a function that may be one, is under way."""
        wanted = self._unknown.keys() - self.known
        if not self.frames and not any(self._called.calls_of(name) for name in wanted):
            self.off()

    def off(self) -> None:
        """Stop watching."""
        _watches.pop(self._kernel, None)
        if not _watches:
            _switch_off()

    # --- called by sys.monitoring ------------------------------------------------------------------------------------

    def started(self, code: CodeType, frame: FrameType, current: Any) -> None:
        """Let a function cross that gets the arguments of an open call."""
        if identity(frame) in self.frames:
            return
        entry = self._candidate(code, frame, current)
        if entry is None:
            return
        call, point = entry
        rule = point.rules[0]
        names = point.parameters
        variables = locals_of(frame)
        ident = unpatched.get_ident()
        self.opening[ident] = rule, call
        try:
            token = self._kernel.enter(point, tuple([variables.get(name) for name in names]))
        finally:
            del self.opening[ident]
        if not token:
            return
        self.frames[identity(frame)] = token

    def returned(self, frame: FrameType, value: Any) -> None:
        """End the crossing of a function that returns."""
        token = self.frames.pop(identity(frame), None)
        if token is not None and token.returned(value) is not value:
            # A stand-in follows the value, and the program has the value itself.
            self._decisions.drop(getattr(token, "crossing", token))

    def unwound(self, frame: FrameType, error: BaseException) -> None:
        """End the crossing of a function that raises."""
        token = self.frames.pop(identity(frame), None)
        if token is not None:
            token.raised(error)

    def _candidate(self, code: CodeType, frame: FrameType, current: Any) -> tuple[OpenCall, Point] | None:
        """Return the call that a function may answer, and the point at which it crosses; None if there is none."""
        variables: Any = None
        for name in list(self._unknown):
            for call in self._called.calls_of(name) if name not in self.known else ():
                if variables is None:
                    variables = locals_of(frame)
                if not takes_call(code, variables, call.call):
                    continue
                points = points_of(code)
                if points:  # it crosses by itself
                    if any(not rule.is_found for point in points for rule in point.rules):
                        self.known.add(name)
                    return None
                if is_inside(call, current):
                    return None
                point = self._point(name, code, str(frame.f_globals.get("__name__", "")))
                return None if point is None else (call, point)
        return None

    def codes_of(self, point: Point) -> list[CodeType]:
        """Return the code objects that cross at a point."""
        wanted = {key[1] for key, known in self._points.items() if known is point}
        return [code for code in self._codes if identity(code) in wanted]

    def _point(self, tool: str, code: CodeType, module: str) -> Point | None:
        key = (tool, identity(code))
        if key not in self._points:
            self._codes.append(code)  # so that its identity stays its own
            self._points[key] = self._make_point(tool, code, module)
        return self._points[key]


_watches: dict[Any, ReturnWatch] = {}
"""By the kernel of their session: the watches that are on."""


def _switch_on() -> bool:
    """Ask for the events that a watch needs, and return whether they come: another tool may have our id."""
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]  # Python 3.12
    if monitoring.get_tool(_TOOL) is None:
        monitoring.restart_events()  # what an earlier watch had no interest in may be of this project
        monitoring.use_tool_id(_TOOL, "autochron")
        events = monitoring.events
        monitoring.register_callback(_TOOL, events.PY_START, _started)
        monitoring.register_callback(_TOOL, events.PY_RETURN, _returned)
        monitoring.register_callback(_TOOL, events.PY_UNWIND, _unwound)
        monitoring.set_events(_TOOL, events.PY_START | events.PY_RETURN | events.PY_UNWIND)
    return bool(monitoring.get_tool(_TOOL) == "autochron")


def _switch_off() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    if monitoring.get_tool(_TOOL) == "autochron":
        monitoring.set_events(_TOOL, 0)
        monitoring.free_tool_id(_TOOL)


def _is_watched(code: CodeType) -> bool:
    return any(watch.project.owns(code.co_filename) for watch in list(_watches.values()))


def _started(code: CodeType, _offset: int) -> Any:
    if code.co_flags & _GENERATOR or not _is_watched(code):
        return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
    if unpatched.get_ident() in BUSY:
        return None
    current = CURRENT.get(None)
    watch = None if current is None else _watches.get(current.root.kernel)
    if watch is not None:
        _guarded(watch, watch.started, code, getframe(1), current)
    return None


def _returned(code: CodeType, _offset: int, value: Any) -> Any:
    if not _is_watched(code):
        return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
    for watch in list(_watches.values()):
        if watch.frames:
            _guarded(watch, watch.returned, getframe(1), value)
    return None


def _unwound(_code: CodeType, _offset: int, error: BaseException) -> None:
    for watch in list(_watches.values()):
        if watch.frames:
            _guarded(watch, watch.unwound, getframe(1), error)


def _guarded(watch: ReturnWatch, note: Callable[..., None], *arguments: Any) -> None:
    """Call a method of a watch. A fault of ours ends the watch, and never reaches the program."""
    try:
        note(*arguments)
    except Exception as error:
        if is_interruption(error):
            raise
        watch.off()
        watch.has_watched = False
        watch.report(f"tools were not found by value: {type(error).__name__}: {error} (tools-not-found)")
