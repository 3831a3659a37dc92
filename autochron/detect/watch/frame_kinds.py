"""What the frames between a source and a line of the project mean: project code, plumbing, a library, a runner, or ours.

Whose call it is follows from these; `attribution` walks the frames.
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
"""Our modules that run the program's code; what the others ask of the world is our own business."""

_THREAD = frozenset({("threading", "Thread.run"), ("threading", "Timer.run")})
POOL = frozenset({("concurrent.futures.thread", "_WorkItem.run")})
LOOP = frozenset({("asyncio.events", "Handle._run")})
PROCESS = frozenset({("multiprocessing.process", "BaseProcess.run")})
RUNNERS = _THREAD | POOL | LOOP | PROCESS
"""The functions that call what somebody else handed over, as (module, qualified name)."""

_THIN = frozenset({("asyncio.base_events", "BaseEventLoop.time")})
"""Plumbing that gives a source's value to whoever asks; a patch of its own would cost each turn of a loop twice."""


class Kind:
    """What a frame means to a walk. Numbers and no enumeration: these are made before every recorded program."""

    PROJECT = 0
    TRANSPARENT = 1
    LIBRARY = 2
    INFRASTRUCTURE = 3
    IMPORTING = 4
    NESTED = 5
    OURS = 6
    RUNNER = 7
    HANDING_ON = 8


class Sites(dict[int, SourceCount]):
    """The records of one code object of the project, by offset of the call."""

    __slots__ = ("owner",)

    def __init__(self, owner: object) -> None:
        super().__init__()
        self.owner = owner

    def __call__(self, *_: Any) -> None:
        """Do nothing when someone begins to trace while this hangs on a frame."""


class ClassifiedCode:
    """What is known of a code object.

    The object is kept, so that its address is nobody else's, unless it was made of a string: a program may make such code
    for ever.
    """

    __slots__ = ("code", "kind", "module", "passes_on", "sites")

    def __init__(self, code: CodeType, kind: int, module: str, sites: Sites) -> None:
        self.code: Any = code  # a weak reference, where it was made of a string
        self.kind = kind
        self.module = module
        self.passes_on: bool | None = None
        """Whether it wraps what hands work over; None where nobody asked yet."""
        self.sites = sites


STOPPING = frozenset({Kind.IMPORTING, Kind.NESTED, Kind.OURS})
"""What ends a walk whatever the source."""

_HOMES: dict[str, set[str]] = {category: set() for category in CATEGORIES}
"""By category, the packages that sources live in."""

for _source in SOURCES:
    _HOMES[_source.category].update(place.partition(":")[0].partition(".")[0] for place in _source.places)


def kind_of(code: CodeType, module: str, owns: Callable[[str], bool]) -> int:
    """Return what a frame of this code means; `owns` tells of a file whether it is the project's."""
    file = code.co_filename
    if owns(file):
        return Kind.PROJECT
    if file.startswith(("<frozen importlib", "<frozen zipimport")):
        return Kind.IMPORTING
    if file.startswith("<") and not file.startswith("<frozen "):
        return Kind.TRANSPARENT  # code made of a string: whoever made it is responsible
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


def is_between(frame: FrameType, known: ClassifiedCode, source: Source) -> bool | None:
    """Return whether this makes a call one of a library; None where it excuses the call."""
    kind = known.kind
    if kind is Kind.HANDING_ON:
        # What it asks of the machine, it asks for itself.
        return None if source.tier == "direct" else False
    if kind is not Kind.LIBRARY:
        return None if kind in STOPPING or source.category not in NEVER_EXCUSED else True
    if source.tier == "direct" or _goes_on(known, source):
        return None
    # An event may come from within its own source.
    return not (source.events and name_of(frame) == source.call)


def _goes_on(known: ClassifiedCode, source: Source) -> bool:
    """Return whether this is a generator beneath a source, such as `os.walk`: what it asks was counted when it was made."""
    is_generator = known.code.co_flags & CO_GENERATOR
    return bool(is_generator) and known.module.partition(".")[0] in _HOMES[source.category]


def _is_in(module: str, packages: frozenset[str]) -> bool:
    while module:
        if module in packages:
            return True
        module = module.rpartition(".")[0]
    return False


def name_of(frame: FrameType | None) -> str | None:
    """Name the function that a frame runs: `requests.api.get`."""
    if frame is None:
        return None
    return f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}"
