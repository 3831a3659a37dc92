"""Attribute a call of a source to the line of project code that it was made for.

That is the line of the nearest project frame. The frames between it and the source say how the call came about:

- None: the line makes the call itself (`direct`).
- A library: the line called one of its functions (`library`, with that function as `via`).
- Plumbing or an import: most calls through these are excused.
- Another source: the call has been counted there already.

Where a thread, a pool or an event loop calls what it was handed, the walk goes on at the line that handed it over.

With an audit hook installed, and a session installs one, `sys._getframe` and `frame.f_code` cost 0.4 µs each, since
both are audited. So frames are read from a generator that never ends: `f_back` of its own frame is its caller. The
counts of the sites in a project frame are kept on the frame itself, as its `f_trace`, which nothing reads while nothing
traces. A call in a loop then costs 0.25 µs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import BuiltinMethodType, CodeType, CoroutineType, FrameType, MethodType
from typing import TYPE_CHECKING, Any
from weakref import ref

from autochron._runtime.frame_locals import locals_of
from autochron._runtime.lazy import late_modules
from autochron.detect.catalogue import Source
from autochron.detect.plumbing import NEVER_EXCUSED
from autochron.detect.watch.counters import Origin, SourceCount, Through, origin_of
from autochron.detect.watch.frame_kinds import (
    LOOP,
    POOL,
    PROCESS,
    STOPPING,
    ClassifiedCode,
    Kind,
    Sites,
    kind_of,
    library_effect,
    name_of,
)
from autochron.detect.watch.third_party_wrappers import wrapping
from autochron.effects.events import STAND_INS
from autochron.effects.undisturbed import is_busy
from autochron.model import Tier

if TYPE_CHECKING:
    from autochron.detect import ambient_codec
else:
    late_modules(globals(), ambient_codec="autochron.detect.ambient_codec")

_getframe = sys._getframe

_MOST_CODES = 50_000
"""The most code objects that are remembered. A program may make new code for ever."""

_STARTED_AT = "_autochron_origin"
"""The attribute of a thread with the line that started it."""
_MADE_AT = "_autochron_made"
"""The attribute of a thread, or of a pool's work item, with the line that made it."""


def _frame_reader() -> Callable[[], FrameType]:
    """Return a function that returns its caller's frame without an audit event."""

    def walk() -> Iterator[Any]:
        while True:
            yield frame.f_back

    walker = walk()
    frame: FrameType = walker.gi_frame  # type: ignore[attr-defined]
    next(walker)
    return walker.__next__


class Attribution:
    """Counts each call of a source at its line of project code."""

    def __init__(
        self,
        owns: Callable[[str], bool],
        is_inside: Callable[[], bool],
        problem: Callable[[str], None],
        through: Callable[[SourceCount], Through | None] | None = None,
        answers: Callable[[Source], bool] | None = None,
    ) -> None:
        """Take what the attribution has to know of the session.

        Args:
            owns: returns whether a file is the project's.
            is_inside: returns whether a boundary is being crossed around the running code.
            problem: is called once with a message if a fault of ours occurs.
            through: returns how the calls of a line are made if their values are recorded, None if they are not. None:
                nothing is recorded.
            answers: returns whether `through` may return something for a source; by default for all sources whose
                values can be recorded.
        """
        self._owns = owns
        self._answers = answers
        self._through = through
        self.is_inside = is_inside
        self._problem = problem
        self._classified: dict[int, ClassifiedCode] = {}
        self._records: dict[tuple[Source, Origin, Tier, str | None], SourceCount] = {}
        # By id, not by the handles: a timer has no hash yet while it is made. Each value: a weak reference and the
        # origin.
        self._handles: dict[int, tuple[ref[Any], Origin]] = {}
        # By the id of the frame that a coroutine begins in.
        self._tasks: dict[int, tuple[ref[Any], Origin]] = {}
        self._has_reported = False
        self._on = True
        self.current_frame = _frame_reader()

    # --- what patches call -------------------------------------------------------------------------------------------

    def getter(self) -> Callable[[Any], Any]:
        """Return the getter of `__call__` for stand-ins: it counts the call and returns the original.

        So the interpreter calls the original, not we: no frame of ours is in its tracebacks, and no arguments are
        packed.
        """
        if self._through is not None:
            return self._getter_through()
        current_frame, inside = self.current_frame, self.is_inside

        def call_of(stand_in: Any) -> Any:
            try:
                frame: Any = current_frame().f_back
                sites = frame.f_trace
                if sites.__class__ is Sites:
                    record = sites.get(frame.f_lasti)
                    if (
                        record is not None
                        and record.source is stand_in.autochron_source
                        and sites.owner is self
                    ):
                        if inside():
                            record.inside += 1
                        else:
                            record.outside += 1
                        return stand_in.autochron_original
                self.count(frame, stand_in.autochron_source)
            except Exception as error:
                self.recover(error, stand_in.autochron_source, 2)
            return stand_in.autochron_original

        return call_of

    @staticmethod
    def _getter_through() -> Callable[[Any], Any]:
        """Return the getter for when values may be recorded: its result makes the call through `through` if set."""

        def call_of(stand_in: Any) -> Any:
            through = stand_in.autochron_hit()
            original = stand_in.autochron_original
            return original if through is None else partial(through, original)

        return call_of

    def hit(self, source: Source, depth: int = 1) -> Callable[..., Through | None]:
        """Return a function that counts a call of the source.

        The function returns how to make the call if its value is recorded, else None.

        Args:
            source: the source.
            depth: how many frames out the call was made, seen from the returned function: 1 for its caller.
        """
        if self._through is not None:
            return self._hit_through(source, depth)
        current_frame, inside = self.current_frame, self.is_inside

        def hit(*_: Any) -> None:
            try:
                frame: Any = current_frame().f_back
                for _step in range(depth - 1):
                    frame = frame.f_back
                sites = frame.f_trace
                if sites.__class__ is Sites:
                    record = sites.get(frame.f_lasti)
                    if record is not None and record.source is source and sites.owner is self:
                        if inside():
                            record.inside += 1
                        else:
                            record.outside += 1
                        return
                self.count(frame, source)
            except Exception as error:
                self.recover(error, source, depth + 1)

        return hit

    def _hit_through(self, source: Source, depth: int) -> Callable[..., Through | None]:
        """Return the function of `hit` for when values may be recorded."""
        current_frame, inside = self.current_frame, self.is_inside

        def hit(*_: Any) -> Through | None:
            try:
                frame: Any = current_frame().f_back
                for _step in range(depth - 1):
                    frame = frame.f_back
                sites = frame.f_trace
                record: SourceCount | None = sites.get(frame.f_lasti) if sites.__class__ is Sites else None
                if record is None or record.source is not source or sites.owner is not self:
                    record = self.count(frame, source)
                elif record.through is not None:
                    record.outside += 1  # a value that is recorded counts as such inside boundaries as well
                elif inside():
                    record.inside += 1
                else:
                    record.outside += 1
            except Exception as error:
                record = self.recover(error, source, depth + 1)
            return None if record is None else record.through

        return hit

    def may_answer(self, source: Source) -> bool:
        """Return whether a source's value may come from a record."""
        if self._through is None:
            return False
        return ambient_codec.form_of(source) is not None if self._answers is None else self._answers(source)

    def review(self) -> None:
        """Ask `through` again for each line that was counted."""
        if self._through is not None:
            for record in self.records():
                record.through = self._through(record) if record.tier == "direct" else None

    def count_from_hook(self, source: Source, depth: int) -> None:
        """Count a call that a hook reports.

        Args:
            source: the source.
            depth: how many frames out the call was made: 1 for the caller of this method.
        """
        try:
            frame: Any = self.current_frame()
            for _step in range(depth):
                frame = frame.f_back
            self.count(frame, source)
        except Exception as error:
            self.recover(error, source, depth + 1)

    def note_thread(self, thread: Any) -> None:
        """Remember on a thread which line of the project starts it."""
        self._note(thread, _STARTED_AT)

    def note_made(self, target: Any) -> None:
        """Remember on a thread, or on a pool's work item, which line of the project made it."""
        self._note(target, _MADE_AT)

    def note_handle(self, handle: Any, callback: Any) -> None:
        """Remember which line of the project made a handle of an event loop.

        Most handles are for steps of tasks. These are skipped: the frames of their coroutines show the line.
        """
        kind = type(callback)
        if kind in _OF_TASKS or kind.__name__ == "TaskStepMethWrapper":
            return
        try:
            origin = self._project_line(_getframe().f_back) if self._on else None
            if origin is not None:
                key, handles = id(handle), self._handles
                handles[key] = (ref(handle, lambda _: handles.pop(key, None)), origin)
        except Exception as error:
            self.report_fault(error)

    def note_task(self, coro: Any) -> None:
        """Remember which line made a task of a library's coroutine. The project's coroutines show their line."""
        if type(coro) is not CoroutineType:
            return
        try:
            classified = self._classified.get(id(coro.cr_code))
            if not self._on or (classified is not None and classified.kind is Kind.PROJECT):
                return
            origin = self._project_line(_getframe().f_back)
            if origin is not None:
                key, tasks = id(coro.cr_frame), self._tasks
                tasks[key] = (ref(coro, lambda _: tasks.pop(key, None)), origin)
        except Exception as error:
            self.report_fault(error)

    def nest(self, code: CodeType) -> None:
        """Mark a code object as a source: what is called beneath it has been counted already."""
        self._classified[id(code)] = ClassifiedCode(code, Kind.NESTED, "", Sites(self))

    def stop(self) -> None:
        """Count nothing more, even if a patch is still held by someone."""
        self._on = False
        for classified in self._classified.copy().values():
            classified.sites.clear()

    def forget(self) -> None:
        """Reset all counts to zero, in a process that was forked."""
        for record in self._records.copy().values():
            record.inside = record.outside = 0

    def records(self) -> tuple[SourceCount, ...]:
        """Return the counts so far."""
        return tuple(self._records.copy().values())

    def report_fault(self, error: Exception) -> None:
        """Report a fault of ours. Only the first one is reported."""
        if self._has_reported:
            return
        self._has_reported = True
        try:
            self._problem(
                f"a call could not be attributed to a line and is not counted: {type(error).__name__}: {error} (watch-fault)"
            )
        except Exception:  # noqa: S110 - there is nowhere left to report it
            pass

    # --- attributing a call ------------------------------------------------------------------------------------------

    def recover(self, error: Exception, source: Source, depth: int) -> SourceCount | None:
        """Count a call whose counting has just raised `error`, by `sys._getframe` instead of the frame generator.

        The generator raises ValueError if another thread is just using it, and StopIteration once the process's end has
        closed it. Any other error is reported as a fault.

        Args:
            error: what counting raised.
            source: the source.
            depth: how many frames out the call was made: 0 for this method's own frame.
        """
        try:
            frame: FrameType | None = _getframe()
            for _step in range(depth):
                frame = frame and frame.f_back
            if frame is None:  # C code makes the call in a thread that it began, so no line does
                return None
            if isinstance(error, ValueError | StopIteration):
                return self.count(frame, source)
        except Exception as second_error:
            error = second_error
        self.report_fault(error)
        return None

    def count(self, frame: FrameType | None, source: Source) -> SourceCount | None:
        """Count a call of a source that a frame makes.

        Returns:
            The record that was counted up; None if the call counts at no line.
        """
        if not self._on or frame is None:
            return None
        code = frame.f_code
        classified = self._classified.get(id(code)) or self._classify(frame, code)
        if classified.kind is Kind.PROJECT:
            record = self._direct_record(frame, code, classified.sites, source)
        elif classified.kind in STOPPING or (classified.module in STAND_INS and is_busy()):
            return None
        else:
            walked = self._walk(frame, source)
            if walked is None:
                return None
            record = walked
        if record.through is None and self.is_inside():
            record.inside += 1
        else:
            record.outside += 1
        return record

    def _direct_record(self, frame: FrameType, code: CodeType, sites: Sites, source: Source) -> SourceCount:
        """Return the record of a line that makes the call itself, and keep it on the frame for the next call."""
        if frame.f_trace is None and sys.gettrace() is None:
            frame.f_trace = sites
        record = sites.get(frame.f_lasti)
        if record is None or record.source is not source:
            origin = origin_of(frame)
            record = sites[frame.f_lasti] = self._record(source, origin, None)
        return record

    def _record(self, source: Source, origin: Origin, via: str | None) -> SourceCount:
        """Return the record of a source at a line, made with the first call."""
        tier: Tier = "direct" if via is None else "library"
        key = (source, origin, tier, via)
        record = self._records.get(key)
        if record is None:
            record = SourceCount(source, origin, tier, via)
            if self._through is not None and via is None:
                record.through = self._through(record)
            record = self._records.setdefault(key, record)
        return record

    def _walk(self, start: FrameType, source: Source) -> SourceCount | None:
        """Return the record of the line that a call was made for; None if there is none, or a frame excuses the call.

        `start` is the frame that called the source.
        """
        never_excused = source.category in NEVER_EXCUSED
        direct_only = source.tier == "direct"
        via: FrameType | None = None
        handed = False  # whether a runner was passed: from there on no frame excuses the call
        frame: FrameType | None = start
        inner = start
        while frame is not None:
            code = frame.f_code
            classified = self._classified.get(id(code)) or self._classify(frame, code)
            kind = classified.kind
            if kind is Kind.PROJECT:
                return self._record(source, origin_of(frame), name_of(via))
            if kind is Kind.RUNNER and not handed:
                origin = self._origin_from_runner(frame, classified, inner, direct=via is None)
                if origin is not None:
                    return None if direct_only and via else self._record(source, origin, name_of(via))
                if not never_excused and classified.module != "multiprocessing.process":
                    return None
                handed = True
            elif kind is not Kind.TRANSPARENT and not handed:
                is_library = library_effect(frame, classified, source)
                if is_library is None:
                    return None
                via = frame if is_library else via
            inner, frame = frame, frame.f_back
        return None

    def _origin_from_runner(
        self, frame: FrameType, classified: ClassifiedCode, inner: FrameType, *, direct: bool
    ) -> Origin | None:
        """Return the line that handed over what a runner calls; None if no line is known.

        Args:
            frame: the runner's frame.
            classified: the runner's code.
            inner: the frame that the runner called.
            direct: whether no library is between the source and the runner. Then a thread counts at the line that made
                it.
        """
        runner = (classified.module, classified.code.co_qualname)
        origin: Origin | None = None
        owner: Any = locals_of(frame).get("self")
        if runner in LOOP:
            _, origin = self._handles.get(id(owner)) or self._tasks.get(id(inner)) or (None, None)
        elif runner not in PROCESS:
            facts = owner.__dict__
            origin = facts.get(_MADE_AT) if direct or runner in POOL else None
            origin = origin or facts.get(_STARTED_AT)
        return origin

    def _note(self, target: Any, name: str) -> None:
        """Set an attribute of a thread or work item to the line of the project that is running."""
        try:
            origin = self._project_line(_getframe(1).f_back) if self._on else None
            if origin is not None:
                target.__dict__[name] = origin
        except Exception as error:
            self.report_fault(error)

    def _project_line(self, start: FrameType | None) -> Origin | None:
        """Return the nearest line of the project, from a frame outward; None if a library or import comes first."""
        inner = frame = start
        while frame is not None and inner is not None:
            code = frame.f_code
            classified = self._classified.get(id(code)) or self._classify(frame, code)
            if classified.kind is Kind.PROJECT:
                return origin_of(frame)
            if classified.kind is Kind.RUNNER:
                return self._origin_from_runner(frame, classified, inner, direct=False)
            if classified.kind in {Kind.IMPORTING, Kind.OURS} or (
                classified.kind is Kind.LIBRARY and not self._passes_on(classified)
            ):
                return None
            inner, frame = frame, frame.f_back
        return None

    @staticmethod
    def _passes_on(classified: ClassifiedCode) -> bool:
        """Return whether code is a third-party wrapper around a function that hands work over."""
        if classified.passes_on is None:
            classified.passes_on = classified.code in wrapping()
        return classified.passes_on

    def _classify(self, frame: FrameType, code: CodeType) -> ClassifiedCode:
        """Classify a code object and remember it. Beyond `_MOST_CODES` all but the nested ones are forgotten first."""
        if len(self._classified) > _MOST_CODES:
            for key in [
                key
                for key, classified in self._classified.copy().items()
                if classified.kind is not Kind.NESTED
            ]:
                self._classified.pop(key, None)
        module = str(frame.f_globals.get("__name__", ""))
        kind = kind_of(code, module, self._owns)
        classified = ClassifiedCode(code, kind, module, Sites(self))
        if kind is Kind.TRANSPARENT and code.co_filename[:1] == "<":
            key, all_known = id(code), self._classified
            classified.code = ref(code, lambda _: all_known.pop(key, None))
        return self._classified.setdefault(id(code), classified)


_OF_TASKS: frozenset[type] = frozenset({BuiltinMethodType, MethodType})
"""The types of the callbacks that are steps of tasks, and methods of transports and futures."""
