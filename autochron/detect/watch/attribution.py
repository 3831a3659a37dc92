"""Whose call it is: from a source that was called to the line of project code which that was for.

The nearest project frame is the line. What lies between says how it came there: nothing (`direct`), a library
(`library`, via its function that the line called), plumbing or an import, through which most is excused, or another
source, which has been counted already. Where a thread, a pool or an event loop calls what it was handed, the walk goes on at
the line that handed it over.

With an audit hook in force, and a session has one, `sys._getframe` and `frame.f_code` cost 0.4 µs each, since both are
audited. So a generator that runs for ever gives the frames, by `f_back` of its own one, and what is known of the sites in
a project frame hangs on the frame itself, as its `f_trace`: nobody looks at that while nobody traces. A call in a loop then
costs 0.25 µs.
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
    is_between,
    kind_of,
    name_of,
)
from autochron.detect.watch.third_party_wrappers import wrapping
from autochron.effects.events import STAND_INS
from autochron.effects.undisturbed import is_busy
from autochron.model import Tier

if TYPE_CHECKING:
    from autochron.detect import ambient_codec as drawing
else:
    late_modules(globals(), drawing="autochron.detect.ambient_codec")

_getframe = sys._getframe

_MOST_CODES = 50_000
"""So many code objects are remembered: a program that makes code for ever is no reason to keep all of it."""

_ORIGIN = "_autochron_origin"
_MADE = "_autochron_made"


def _frames() -> Callable[[], FrameType]:
    """Return a function that gives its caller's frame, and that no audit hook is told of."""

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
        """Take `through`, which gives how a line's calls go where their values are recorded; None where none are.

        `answers` tells of which sources it may give something; those that can be recorded unless said otherwise.
        """
        self._owns = owns
        self._answers = answers
        self._through = through
        self.is_inside = is_inside
        self._problem = problem
        self._known: dict[int, ClassifiedCode] = {}
        self._records: dict[tuple[Source, Origin, Tier, str | None], SourceCount] = {}
        # Not by the handles: a timer's hash is not there yet when it is made.
        self._handles: dict[int, tuple[ref[Any], Origin]] = {}
        # By the frame that a coroutine begins in.
        self._tasks: dict[int, tuple[ref[Any], Origin]] = {}
        self._told = False
        self._on = True
        self.following = _frames()

    # --- what patches call -------------------------------------------------------------------------------------------

    def getter(self) -> Callable[[Any], Any]:
        """Return the getter of `__call__` for what stands in the place of a callable: it counts, and gives the original.

        So the original is called by the interpreter and not by us: no frame of ours is in its tracebacks, and no argument is
        packed.
        """
        if self._through is not None:
            return self._getter_through()
        following, inside = self.following, self.is_inside

        def call_of(stand: Any) -> Any:
            try:
                frame: Any = following().f_back
                sites = frame.f_trace
                if sites.__class__ is Sites:
                    record = sites.get(frame.f_lasti)
                    if record is not None and record.source is stand.autochron_source and sites.owner is self:
                        if inside():
                            record.inside += 1
                        else:
                            record.outside += 1
                        return stand.autochron_original
                self.count(frame, stand.autochron_source)
            except Exception as error:
                self.mend(error, stand.autochron_source, 2)
            return stand.autochron_original

        return call_of

    @staticmethod
    def _getter_through() -> Callable[[Any], Any]:
        """Return the getter where values may be recorded: then what it gives calls the original through that."""

        def call_of(stand: Any) -> Any:
            through = stand.autochron_hit()
            original = stand.autochron_original
            return original if through is None else partial(through, original)

        return call_of

    def hit(self, source: Source, depth: int = 1) -> Callable[..., Through | None]:
        """Return a function that counts a call of the source, so many frames out, and gives how it goes if it is recorded."""
        if self._through is not None:
            return self._hit_through(source, depth)
        following, inside = self.following, self.is_inside

        def hit(*_: Any) -> None:
            try:
                frame: Any = following().f_back
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
                self.mend(error, source, depth + 1)

        return hit

    def _hit_through(self, source: Source, depth: int) -> Callable[..., Through | None]:
        following, inside = self.following, self.is_inside

        def hit(*_: Any) -> Through | None:
            try:
                frame: Any = following().f_back
                for _step in range(depth - 1):
                    frame = frame.f_back
                sites = frame.f_trace
                record: SourceCount | None = sites.get(frame.f_lasti) if sites.__class__ is Sites else None
                if record is None or record.source is not source or sites.owner is not self:
                    record = self.count(frame, source)
                elif record.through is not None:
                    record.outside += 1  # recorded it is, wherever it is
                elif inside():
                    record.inside += 1
                else:
                    record.outside += 1
            except Exception as error:
                record = self.mend(error, source, depth + 1)
            return None if record is None else record.through

        return hit

    def may_answer(self, source: Source) -> bool:
        """Return whether a source's value may come from a record."""
        if self._through is None:
            return False
        return drawing.form_of(source) is not None if self._answers is None else self._answers(source)

    def review(self) -> None:
        """Ask anew of each line how its calls go."""
        if self._through is not None:
            for record in self.records():
                record.through = self._through(record) if record.tier == "direct" else None

    def told(self, source: Source, depth: int) -> None:
        """Count a call of which an audit hook was told, so many frames out."""
        try:
            frame: Any = self.following()
            for _step in range(depth):
                frame = frame.f_back
            self.count(frame, source)
        except Exception as error:
            self.mend(error, source, depth + 1)

    def note_thread(self, thread: Any) -> None:
        """Remember on a thread which line of the project starts it."""
        self._note(thread, _ORIGIN)

    def note_made(self, made: Any) -> None:
        """Remember on a thread, or on the work that a pool was given, which line of the project made it."""
        self._note(made, _MADE)

    def note_handle(self, handle: Any, callback: Any) -> None:
        """Remember which line of the project gave an event loop this to call.

        Most of what a loop calls are steps of tasks, whose coroutines say themselves where they are.
        """
        kind = type(callback)
        if kind in _OF_TASKS or kind.__name__ == "TaskStepMethWrapper":
            return
        try:
            origin = self._origin(_getframe(1)) if self._on else None
            if origin is not None:
                key, handles = id(handle), self._handles
                handles[key] = (ref(handle, lambda _: handles.pop(key, None)), origin)
        except Exception as error:
            self.tell(error)

    def note_task(self, coro: Any) -> None:
        """Remember which line of the project a task of a library's coroutine is made for: a project's says so itself."""
        if type(coro) is not CoroutineType:
            return
        try:
            known = self._known.get(id(coro.cr_code))
            if not self._on or (known is not None and known.kind is Kind.PROJECT):
                return
            origin = self._origin(_getframe(1))
            if origin is not None:
                key, tasks = id(coro.cr_frame), self._tasks
                tasks[key] = (ref(coro, lambda _: tasks.pop(key, None)), origin)
        except Exception as error:
            self.tell(error)

    def nest(self, code: CodeType) -> None:
        """Take this for the code of a source: what is called from it has been counted already."""
        self._known[id(code)] = ClassifiedCode(code, Kind.NESTED, "", Sites(self))

    def stop(self) -> None:
        """Count nothing more, whoever still holds a patch."""
        self._on = False
        for known in self._known.copy().values():
            known.sites.clear()

    def forget(self) -> None:
        """Count from zero again: in a process that was forked."""
        for record in self._records.copy().values():
            record.inside = record.outside = 0

    def records(self) -> tuple[SourceCount, ...]:
        """Return what was counted so far."""
        return tuple(self._records.copy().values())

    def tell(self, error: Exception) -> None:
        """Report a fault of ours, once."""
        if self._told:
            return
        self._told = True
        try:
            self._problem(
                f"a call could not be told whose it is, and is not counted: {type(error).__name__}: {error} (watch-fault)"
            )
        except Exception:  # noqa: S110 - there is nobody left to tell
            pass

    # --- finding whose it is -----------------------------------------------------------------------------------------

    def mend(self, error: Exception, source: Source, depth: int) -> SourceCount | None:
        """Take the slow way where another thread was just being given a frame, or the end of the process closed the giver."""
        if not isinstance(error, ValueError | StopIteration):
            self.tell(error)
            return None
        try:
            return self.count(_getframe(depth), source)
        except Exception as other:
            self.tell(other)
            return None

    def count(self, frame: FrameType | None, source: Source) -> SourceCount | None:
        """Count a call that a frame makes, and give what was counted; None where it counts for nobody."""
        if not self._on or frame is None:
            return None
        code = frame.f_code
        known = self._known.get(id(code)) or self._know(frame, code)
        if known.kind is Kind.PROJECT:
            record = self._at(frame, code, known.sites, source)
        elif known.kind in STOPPING or (known.module in STAND_INS and is_busy()):
            return None
        else:
            found = self._walk(frame, source)
            if found is None:
                return None
            record = found
        if record.through is None and self.is_inside():
            record.inside += 1
        else:
            record.outside += 1
        return record

    def _at(self, frame: FrameType, code: CodeType, sites: Sites, source: Source) -> SourceCount:
        """Return the record of a line that makes the call itself, and have it at hand for the next time."""
        if frame.f_trace is None and sys.gettrace() is None:
            frame.f_trace = sites
        record = sites.get(frame.f_lasti)
        if record is None or record.source is not source:
            origin = origin_of(frame)
            record = sites[frame.f_lasti] = self._record(source, origin, None)
        return record

    def _record(self, source: Source, origin: Origin, via: str | None) -> SourceCount:
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
        """Find the line that a call was for; None where it was for none, or is excused."""
        never_excused = source.category in NEVER_EXCUSED
        direct_only = source.tier == "direct"
        via: FrameType | None = None
        handed = False  # past what called what it was handed: nothing excuses any more
        frame: FrameType | None = start
        inner = start
        while frame is not None:
            code = frame.f_code
            known = self._known.get(id(code)) or self._know(frame, code)
            kind = known.kind
            if kind is Kind.PROJECT:
                return self._record(source, origin_of(frame), name_of(via))
            if kind is Kind.RUNNER and not handed:
                origin = self._handed_by(frame, known, inner, direct=via is None)
                if origin is not None:
                    return None if direct_only and via else self._record(source, origin, name_of(via))
                if not never_excused and known.module != "multiprocessing.process":
                    return None
                handed = True
            elif kind is not Kind.TRANSPARENT and not handed:
                between = is_between(frame, known, source)
                if between is None:
                    return None
                via = frame if between else via
            inner, frame = frame, frame.f_back
        return None

    def _handed_by(
        self, frame: FrameType, known: ClassifiedCode, inner: FrameType, *, direct: bool
    ) -> Origin | None:
        """Return the line that handed over what this runner calls; `inner` is the frame of that."""
        runner = (known.module, known.code.co_qualname)
        origin: Origin | None = None
        held: Any = locals_of(frame).get("self")
        if runner in LOOP:
            _, origin = self._handles.get(id(held)) or self._tasks.get(id(inner)) or (None, None)
        elif runner not in PROCESS:
            facts = held.__dict__
            origin = facts.get(_MADE) if direct or runner in POOL else None
            origin = origin or facts.get(_ORIGIN)
        return origin

    def _note(self, what: Any, name: str) -> None:
        try:
            origin = self._origin(_getframe(2)) if self._on else None
            if origin is not None:
                what.__dict__[name] = origin
        except Exception as error:
            self.tell(error)

    def _origin(self, start: FrameType | None) -> Origin | None:
        """Return the line of the project that does something through plumbing at most; None where a library does it."""
        inner = frame = start
        while frame is not None and inner is not None:
            code = frame.f_code
            known = self._known.get(id(code)) or self._know(frame, code)
            if known.kind is Kind.PROJECT:
                return origin_of(frame)
            if known.kind is Kind.RUNNER:
                return self._handed_by(frame, known, inner, direct=False)
            if known.kind in {Kind.IMPORTING, Kind.OURS} or (
                known.kind is Kind.LIBRARY and not self._passes_on(known)
            ):
                return None
            inner, frame = frame, frame.f_back
        return None

    @staticmethod
    def _passes_on(known: ClassifiedCode) -> bool:
        if known.passes_on is None:
            known.passes_on = known.code in wrapping()
        return known.passes_on

    def _know(self, frame: FrameType, code: CodeType) -> ClassifiedCode:
        if len(self._known) > _MOST_CODES:
            for key in [key for key, known in self._known.copy().items() if known.kind is not Kind.NESTED]:
                self._known.pop(key, None)
        module = str(frame.f_globals.get("__name__", ""))
        kind = kind_of(code, module, self._owns)
        known = ClassifiedCode(code, kind, module, Sites(self))
        if kind is Kind.TRANSPARENT and code.co_filename[:1] == "<":
            key, all_known = id(code), self._known
            known.code = ref(code, lambda _: all_known.pop(key, None))
        return self._known.setdefault(id(code), known)


_OF_TASKS: frozenset[type] = frozenset({BuiltinMethodType, MethodType})
"""What steps of tasks, transports and futures are."""
