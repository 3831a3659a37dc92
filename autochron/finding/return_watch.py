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

from msgspec import Struct

from autochron._runtime import unpatched
from autochron._runtime.bare import identity
from autochron._runtime.frame_locals import locals_of
from autochron._runtime.unpatched import getframe
from autochron.crossing.crossing import BUSY
from autochron.crossing.lanes import CURRENT
from autochron.finding.argument_match import takes_call
from autochron.finding.called_tools import CalledTools, OpenCall, is_inside
from autochron.instrument.found_functions import points_of
from autochron.model import BoundaryRule
from autochron.recording.found_tools import carries, result_text, telling
from autochron.weaving.gate import Point

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.project import Project
    from autochron.recording.call_facts import CallResult
    from autochron.recording.held_crossings import HeldCrossings

CAN_WATCH = sys.version_info >= (3, 12)
"""Whether this Python can tell of calls and returns."""

_TOOL = 4
"""Our id among the tools of `sys.monitoring`. No well-known tool has it."""

_MOST_TURNS = 3
"""How often the calls of one tool are watched without success."""

_GENERATOR = 0x20 | 0x200


class Held(Struct):
    """A crossing of a function that may be a tool.

    Attributes:
        call: the call that the function got the arguments of.
        crossing: the crossing.
        rule: the rule by which it crossed.
        code: of the function.
    """

    call: OpenCall
    crossing: Crossing[Any]
    rule: BoundaryRule
    code: CodeType


class ReturnWatch:
    """Watches for the functions of unknown tools in one session.

    Attributes:
        opening: the rule of the function that is about to cross, by thread.
        project: whose functions are watched.
        known: the tools that are not watched any more: found, covered by a rule, or watched in vain.
        frames: the token and the entry of each function that crosses now, by the identity of its frame.
    """

    def __init__(
        self,
        called: CalledTools,
        project: Project,
        make_point: Callable[[str, CodeType, str], Point | None],
    ) -> None:
        """Make one.

        Args:
            called: the calls that the models have asked for.
            project: whose functions are watched.
            make_point: returns the point of a function that may be a tool, from the tool, its code and its module; None if it
                can't cross.
        """
        self._called = called
        self.project = project
        self._make_point = make_point
        self._points: dict[tuple[str, int], Point | None] = {}
        self._codes: list[CodeType] = []
        self.frames: dict[int, tuple[Any, Held]] = {}
        self._held: dict[int, Held] = {}
        self._unknown: dict[str, int] = {}
        """By tool: how often its calls were watched."""
        self.known: set[str] = set()
        self.opening: dict[int, BoundaryRule] = {}
        self._lock = unpatched.RLock()
        self._kernel: Any = None

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
            _switch_on()

    def decide(self, results: Iterable[CallResult]) -> list[tuple[BoundaryRule, CodeType]]:
        """Keep the crossings whose return value is in a result, and drop the other ones of the same call.

        Returns:
            The rules of the tools that are found now, each with the code of the function.
        """
        found: dict[str, tuple[BoundaryRule, CodeType]] = {}
        with self._lock:
            for result in results:
                held = [entry for entry in self._held.values() if _answers(result, entry.call)]
                if held:
                    text = result_text(result)
                    kept = [entry for entry in held if _is_carried(entry, text)]
                    is_clear = len({identity(entry.code) for entry in kept}) == 1
                    for entry in kept[:1] if is_clear else ():
                        found[entry.rule.id] = entry.rule, entry.code
                        self.known.add(entry.call.call.name)
                    self._settle(held, kept if is_clear else [])
        if not self._held:
            self.off()
        return list(found.values())

    def off(self) -> None:
        """Stop watching."""
        _watches.pop(self._kernel, None)
        if not _watches:
            _switch_off()

    def _settle(self, held: list[Held], kept: list[Held]) -> None:
        """Submit the kept crossings, drop the others, and number those that remain of the same name anew."""
        for entry in held:
            del self._held[entry.crossing.seq]
        dropped = [entry for entry in held if not any(entry is other for other in kept)]
        for entry in dropped:
            _held_of(entry).pop(entry.crossing.seq, None)
        for name in {entry.crossing.name for entry in dropped}:
            self._number_anew(name, dropped, kept)
        for entry in kept:
            _held_of(entry).release(entry.crossing.seq)

    def _number_anew(self, name: str, dropped: list[Held], kept: list[Held]) -> None:
        """Give the crossings of a name the numbers that they have without the dropped ones."""
        gone = [entry.crossing for entry in dropped if entry.crossing.name == name]
        left = [entry.crossing for entry in (*kept, *self._held.values()) if entry.crossing.name == name]
        for crossing in left:
            crossing.nth -= sum(other.seq < crossing.seq for other in gone)
            crossing.within -= sum(
                other.seq < crossing.seq and other.previous is crossing.previous for other in gone
            )
        for crossing in gone:
            crossing.previous.counts[name] -= 1
        self._kernel.take_back(name, len(gone))

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
        self.opening[ident] = rule
        try:
            token = self._kernel.enter(point, tuple([variables.get(name) for name in names]))
        finally:
            del self.opening[ident]
        if not token:
            return
        crossing = getattr(token, "crossing", token)
        held = Held(call, crossing, rule, code)
        _held_of(held).hold(crossing)
        with self._lock:
            self.frames[identity(frame)] = token, held
            self._held[crossing.seq] = held

    def returned(self, frame: FrameType, value: Any) -> None:
        """End the crossing of a function that returns."""
        entry = self.frames.pop(identity(frame), None)
        if entry is not None and entry[0].returned(value) is not value:
            self._drop(entry[1])  # a stand-in follows the value, and the program has the value itself

    def unwound(self, frame: FrameType, error: BaseException) -> None:
        """End the crossing of a function that raises."""
        entry = self.frames.pop(identity(frame), None)
        if entry is not None:
            entry[0].raised(error)

    def _drop(self, held: Held) -> None:
        with self._lock:
            self._held.pop(held.crossing.seq, None)
            _held_of(held).pop(held.crossing.seq, None)
            self._number_anew(held.crossing.name, [held], [])

    def _candidate(self, code: CodeType, frame: FrameType, current: Any) -> tuple[OpenCall, Point] | None:
        """Return the call that a function may answer, and the point at which it crosses; None if there is none."""
        variables: Any = None
        for name in list(self._unknown):
            for call in self._called.calls_of(name) if name not in self.known else ():
                if variables is None:
                    variables = locals_of(frame)
                if not takes_call(code, variables, call.call):
                    continue
                if points_of(code):
                    self.known.add(name)  # a rule covers it
                    return None
                if is_inside(call, current):
                    return None
                point = self._point(name, code, str(frame.f_globals.get("__name__", "")))
                return None if point is None else (call, point)
        return None

    def _point(self, tool: str, code: CodeType, module: str) -> Point | None:
        key = (tool, identity(code))
        if key not in self._points:
            self._codes.append(code)  # so that its identity stays its own
            self._points[key] = self._make_point(tool, code, module)
        return self._points[key]


def _held_of(entry: Held) -> HeldCrossings:
    """Return where the recorder keeps a crossing that waits."""
    recorder: Any = entry.crossing.handler
    held: HeldCrossings = recorder.held
    return held


def _answers(result: CallResult, call: OpenCall) -> bool:
    return result.id == call.call.id if result.id else result.name == call.call.name


def _is_carried(held: Held, text: str) -> bool:
    """Return whether a result holds what a crossing returned. What says nothing is in no result."""
    draft = held.crossing.record
    outcome = None if draft is None else draft.outcome
    values = frozenset() if outcome is None else telling(outcome)
    return bool(values) and carries(text, values)


_watches: dict[Any, ReturnWatch] = {}
"""By the kernel of their session: the watches that are on."""


def _switch_on() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]  # Python 3.12
    if monitoring.get_tool(_TOOL) is None:
        monitoring.use_tool_id(_TOOL, "autochron")
        events = monitoring.events
        monitoring.register_callback(_TOOL, events.PY_START, _started)
        monitoring.register_callback(_TOOL, events.PY_RETURN, _returned)
        monitoring.register_callback(_TOOL, events.PY_UNWIND, _unwound)
        monitoring.set_events(_TOOL, events.PY_START | events.PY_RETURN | events.PY_UNWIND)


def _switch_off() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    if monitoring.get_tool(_TOOL) == "autochron":
        monitoring.set_events(_TOOL, 0)
        monitoring.free_tool_id(_TOOL)


def _watch_of(code: CodeType) -> Any:
    """Return the watch of the session that runs this code; None if there is none."""
    if unpatched.get_ident() in BUSY:
        return None
    current = CURRENT.get(None)
    kernel = None if current is None else current.root.kernel
    return _watches.get(kernel)


def _started(code: CodeType, _offset: int) -> Any:
    if code.co_flags & _GENERATOR or not any(
        watch.project.owns(code.co_filename) for watch in list(_watches.values())
    ):
        return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
    watch = _watch_of(code)
    if watch is not None:
        watch.started(code, getframe(1), CURRENT.get(None))
    return None


def _returned(code: CodeType, _offset: int, value: Any) -> Any:
    for watch in list(_watches.values()):
        if watch.frames:
            watch.returned(getframe(1), value)
    return None


def _unwound(_code: CodeType, _offset: int, error: BaseException) -> None:
    for watch in list(_watches.values()):
        if watch.frames:
            watch.unwound(getframe(1), error)
