"""Classify the frames between a source and a line of the project: project code, plumbing, a library, a runner, or ours.

`attribution` walks the frames, and decides by these kinds which line a call counts at.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from autochron._runtime.codeflags import CO_GENERATOR
from autochron.detect.catalogue import SOURCES, Source
from autochron.detect.plumbing import ASKING, INFRASTRUCTURE, NEVER_EXCUSED, TRANSPARENT
from autochron.detect.watch.counters import SourceCount
from autochron.effects.events import STAND_INS
from autochron.model import CATEGORIES

_INFRASTRUCTURE = frozenset(INFRASTRUCTURE)
_TRANSPARENT = frozenset(TRANSPARENT)
_ASKING = frozenset(ASKING)

_PASSING = STAND_INS | frozenset(
    {
        "autochron._runtime.lazy",
        "autochron.crossing.adapters",
        "autochron.crossing.boundaries",
        "autochron.crossing.crossing",
        "autochron.crossing.iterators",
        "autochron.crossing.kernel",
        "autochron.crossing.lane_hooks",
        "autochron.crossing.streams",
        "autochron.crossing.tokens",
        "autochron.rules.compiled_boundary",
        "autochron.isolation.denials",
        "autochron.isolation.event_loops",
        "autochron.instrument.decorators",
        "autochron.instrument.swap",
        "autochron.weaving.gate",
        "autochron.weaving.hook",
        "autochron.weaving.sites",
        "autochron.weaving.wrapping",
    }
)
"""Our modules that run the program's code. What our other modules call is not the program's, so it is not counted."""

_THREAD = frozenset({("threading", "Thread.run"), ("threading", "Timer.run")})
POOL = frozenset({("concurrent.futures.thread", "_WorkItem.run")})
LOOP = frozenset({("asyncio.events", "Handle._run")})
PROCESS = frozenset({("multiprocessing.process", "BaseProcess.run")})
RUNNERS = _THREAD | POOL | LOOP | PROCESS
"""The functions that call what was handed over to them elsewhere, as (module, qualified name)."""

_THIN = frozenset(
    {("asyncio.base_events", "BaseEventLoop.time"), ("concurrent.futures.thread", "WorkerContext.run")}
)
"""Plumbing that returns a source's value to its caller. To patch it as well would cost each turn of a loop more."""


class Kind:
    """What a frame means to a walk. Numbers, not an enumeration: this is imported before every recorded program."""

    PROJECT = 0
    """A line of it is what the walk looks for."""
    TRANSPARENT = 1
    """It is as if the frame were not there."""
    LIBRARY = 2
    """It makes the call one of a library, or excuses it if only direct calls count."""
    INFRASTRUCTURE = 3
    """It excuses all but network and subprocess."""
    IMPORTING = 4
    """It excuses all."""
    NESTED = 5
    """A source: the call has been counted there."""
    OURS = 6
    """It excuses all."""
    RUNNER = 7
    """It calls what a line elsewhere handed over."""
    HANDING_ON = 8
    """It calls what it is passed. It excuses sources that count only if they are called directly."""


class Sites(dict[int, SourceCount]):
    """The records of one code object of the project, by the offset of the calling instruction."""

    __slots__ = ("owner",)

    def __init__(self, owner: object) -> None:
        super().__init__()
        self.owner = owner

    def __call__(self, *_: Any) -> None:
        """Do nothing. A tracer that starts while this is the `f_trace` of a frame calls it."""


class ClassifiedCode:
    """A code object and what is known of it.

    The object is kept alive, so that no other object gets its id. Code that was made of a string is not: a program may
    make such code for ever.
    """

    __slots__ = ("code", "kind", "module", "passes_on", "sites")

    def __init__(self, code: CodeType, kind: int, module: str, sites: Sites) -> None:
        self.code: Any = code  # a weak reference for code that was made of a string
        self.kind = kind
        self.module = module
        self.passes_on: bool | None = None
        """Whether it wraps a function that hands work over; None if that is not known yet."""
        self.sites = sites


STOPPING = frozenset({Kind.IMPORTING, Kind.NESTED, Kind.OURS})
"""The kinds that end a walk, whatever the source."""

_PACKAGES: dict[str, set[str]] = {category: set() for category in CATEGORIES}
"""The top-level packages that define the sources of a category."""

for _source in SOURCES:
    _PACKAGES[_source.category].update(place.partition(":")[0].partition(".")[0] for place in _source.places)


def kind_of(code: CodeType, module: str, owns: Callable[[str], bool]) -> int:
    """Return what a frame of this code means, as a `Kind`; `owns` returns whether a file is the project's."""
    file = code.co_filename
    if owns(file):
        return Kind.PROJECT
    if file.startswith(("<frozen importlib", "<frozen zipimport")):
        return Kind.IMPORTING
    if file.startswith("<") and not file.startswith("<frozen "):
        return Kind.TRANSPARENT  # code made of a string counts at the line that runs it
    if module == "autochron" or module.startswith("autochron."):
        return Kind.TRANSPARENT if module in _PASSING else Kind.OURS
    if (module, code.co_qualname) in RUNNERS:
        return Kind.RUNNER
    if (module, code.co_qualname) in _THIN:
        return Kind.TRANSPARENT
    if _is_in(module, _ASKING):
        return Kind.NESTED
    if _is_in(module, _TRANSPARENT):
        return Kind.HANDING_ON
    return Kind.INFRASTRUCTURE if _is_in(module, _INFRASTRUCTURE) else Kind.LIBRARY


def library_effect(frame: FrameType, classified: ClassifiedCode, source: Source) -> bool | None:
    """Return what a frame makes of a call.

    Args:
        frame: neither of the project nor of a runner.
        classified: its code.
        source: the source that was called.

    Returns:
        True if the frame makes the call one of a library, False if it changes nothing, None if it excuses the call.
    """
    kind = classified.kind
    if kind is Kind.HANDING_ON:
        # Facts of the machine it reads for its own use.
        return None if source.tier == "direct" else False
    if kind is not Kind.LIBRARY:
        return None if kind in STOPPING or source.category not in NEVER_EXCUSED else True
    if source.tier == "direct" or _is_running_source(classified, source):
        return None
    # An audit event may be raised from within the function that is the source itself.
    return not (source.events and name_of(frame) == source.call)


def _is_running_source(classified: ClassifiedCode, source: Source) -> bool:
    """Return whether this is the generator of a source, such as `os.walk`.

    What it calls while it runs belongs to the call that made it, which has been counted.
    """
    is_generator = classified.code.co_flags & CO_GENERATOR
    return bool(is_generator) and classified.module.partition(".")[0] in _PACKAGES[source.category]


def _is_in(module: str, packages: frozenset[str]) -> bool:
    """Return whether a module is in one of these packages."""
    while module:
        if module in packages:
            return True
        module = module.rpartition(".")[0]
    return False


def name_of(frame: FrameType | None) -> str | None:
    """Return the full name of the function that a frame runs, such as `requests.api.get`."""
    if frame is None:
        return None
    return f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}"
