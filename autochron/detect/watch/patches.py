"""Patch sources in place. Each patch is put on and taken off on its own, and none changes what a source is.

There are four ways, by what is at a place:

- A Python function gets a call in front of its own code (`code_prologue`). Where values are recorded, that call may
  answer in the function's place.
- A C callable in a module is replaced by a stand-in. The stand-in is no descriptor, so `class A: clock = time.time`
  goes on working. The interpreter itself calls the original.
- A stand-in whose arguments matter, or beneath which other sources are called, calls the original from a frame of ours
  instead.
- A method of a C type is replaced in the type's dict by a wrapper. The type itself stays: a subclass in its place
  breaks isinstance, pickling and pydantic, and to replace the C function itself is unsafe.

A method that a class inherits is copied into that class, and only the copy is patched.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from autochron._runtime.codeflags import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    CO_VARARGS,
    CO_VARKEYWORDS,
)
from autochron._runtime.own_frames import drop_frame
from autochron.detect.catalogue import Argument, Source
from autochron.detect.watch.attribution import Attribution
from autochron.detect.watch.code_prologue import with_answer, with_call
from autochron.detect.watch.rollback import TentativeCounts
from autochron.detect.watch.stand_ins import (
    CALLED,
    CALLING,
    DOC,
    MODULE,
    DiscardMarker,
    Hook,
    MethodStandIn,
    StandIn,
    framed,
)
from autochron.detect.watch.third_party_wrappers import path_to

Undo = Callable[[], None]

_HIDDEN = frozenset({"random", "numpy.random"})
"""Modules whose functions are methods of a hidden generator. Their functions call no other source."""

_UNANSWERABLE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_VARARGS | CO_VARKEYWORDS
"""Flags of functions that `with_answer` doesn't suit: a call makes a generator or coroutine, or takes any arguments."""

_MISSING = object()
_NO_SOURCE = Source("", "native")
_ClassMethodDescriptor = type(dict.__dict__["fromkeys"])


class PatchPoint:
    """An attribute that may be patched: its owner, its name, its value, and whether it is in the owner's own dict."""

    __slots__ = ("name", "own", "owner", "value")

    def __init__(self, owner: Any, name: str, value: Any, *, own: bool) -> None:
        self.owner = owner
        self.name = name
        self.value = value
        self.own = own


class Patcher:
    """Puts patches on, and takes all of them off again."""

    def __init__(self, attribution: Attribution) -> None:
        self._attribution = attribution
        self._tentative_counts = TentativeCounts(attribution)
        self._undo: list[Undo] = []
        self._placed: list[tuple[Any, str, Any, Any]] = []
        """The owner of each attribute that was replaced, its name, the value before and the value now."""
        self._counted: set[FunctionType] = set()
        self._stand_ins: dict[int, StandIn] = {}
        self._call_getter = property(attribution.getter())
        self._types: dict[tuple[str, bool], type[StandIn]] = {}
        attribution.nest(CALLING)

    def put(self, source: Source, place: str) -> bool:
        """Patch a source at a place.

        Args:
            source: the source.
            place: one of its `places` or `discards`, as `module:qualname`.

        Returns:
            Whether there was something of that name that can be patched.
        """
        point = find(place)
        if point is None:
            return False
        if place in source.discards:
            self._insert(
                point.owner, point.name, DiscardMarker(point.value, self._tentative_counts.take_back)
            )
            return True
        if isinstance(point.owner, type):
            return self._put_on_type(source, point)
        function = function_of(point.value)
        if function is not None:
            if function not in self._counted:  # one function may be at several places
                self._counted.add(function)
                self._put_on_function(source, function, 0)
            return True
        if not callable(point.value) or isinstance(point.value, type):
            return False
        self._replace(point.owner, point.name, self._stand_in(source, point.value))
        return True

    def carry(self, place: str, hook: Hook, parameters: tuple[int, ...]) -> None:
        """Have a hook called before a function that hands over something to be called elsewhere.

        Args:
            place: the function, as `module:qualname`; nothing is done if it isn't there.
            hook: called with some of the function's arguments.
            parameters: the indices of these parameters.
        """
        path = path_to(place)
        if path:
            self._put_in_code(path[-1], hook, parameters)

    def stand_before(self, place: str, hook: Hook) -> None:
        """Have a C callable that is no source called through a hook.

        Args:
            place: the callable, as `module:qualname`; nothing is done if it isn't there.
            hook: takes the positional and the keyword arguments of a call. It returns what calls the original instead,
                or None for a plain call.
        """
        point = find(place)
        if point is not None:
            call = framed(point.value, hook)
            stand_in = self._type_for(point.value, framed=True)(point.value, _NO_SOURCE, None, call)
            self._stand_ins[id(point.value)] = stand_in
            self._replace(point.owner, point.name, stand_in)

    def shield(self, place: str) -> None:
        """Copy a method that a class inherits into the class, so that a patch of the base class leaves it as it was."""
        point = find(place)
        function = point and function_of(point.value)
        if point is not None and function and not point.own:
            self._insert(point.owner, point.name, copy_of(function))

    def quiet(self, place: str) -> None:
        """Mark a function, so that no source beneath it is counted."""
        point = find(place)
        function = point and function_of(point.value)
        if function:
            self._attribution.nest(function.__code__)

    def uncover(self, place: str) -> None:
        """Replace a function that changes C functions in place: while it runs, no stand-in is in their place."""
        point = find(place)
        if point is None:
            return

        def uncovered(*args: Any, **kwargs: Any) -> Any:
            self.turn(uncovered=True)
            try:
                return point.value(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                self.turn(uncovered=False)

        self._replace(point.owner, point.name, functools.wraps(point.value)(uncovered))

    def turn(self, *, uncovered: bool) -> None:
        """Take the stand-ins off (`uncovered`), or put them on again. Places that others have changed stay."""
        for owner, name, original, patch in reversed(self._placed) if uncovered else self._placed:
            current, wanted = (patch, original) if uncovered else (original, patch)
            if vars(owner).get(name, _MISSING) is current:
                if isinstance(owner, type):
                    set_on_type(owner, name, wanted)
                else:
                    setattr(owner, name, wanted)

    def adopt(self, module: ModuleType) -> None:
        """Replace the sources that a module of the project holds under names of its own by their stand-ins."""
        for name, value in list(vars(module).items()):
            stand_in = self._stand_ins.get(id(value))
            if stand_in is not None and value is stand_in.autochron_original:
                self._replace(module, name, stand_in)

    def off(self) -> None:
        """Take every patch off. What others have put over a patch since stays, and the patch counts nothing more."""
        while self._undo:
            self._undo.pop()()

    # --- the ways ----------------------------------------------------------------------------------------------------

    def _put_on_type(self, source: Source, point: PatchPoint) -> bool:
        """Patch a method of a type; False if it is neither a Python function nor a class method of C."""
        function = function_of(point.value)
        if function is not None:
            if not point.own:
                function = copy_of(function)
            self._put_on_function(source, function, int(not isinstance(point.value, staticmethod)))
            if not point.own:
                kind = type(point.value)
                self._insert(
                    point.owner,
                    point.name,
                    kind(function) if kind in {classmethod, staticmethod} else function,
                )
            return True
        if isinstance(point.value, _ClassMethodDescriptor):
            hook = self._attribution.hit(source, 2)
            kind = self._type_for(point.value.__get__(None, point.owner), framed=source.calls_source)
            self._insert(point.owner, point.name, MethodStandIn(point.value, source, point.owner, kind, hook))
            return True
        return False

    def _put_on_function(self, source: Source, function: FunctionType, skipped: int) -> None:
        """Have the calls of a function counted, or answered if its values may be recorded."""
        if self._attribution.may_answer(source) and not function.__code__.co_flags & _UNANSWERABLE:
            self._put_answer(source, function, skipped)
        else:
            self._put_in_code(function, self._hook(source, function, skipped))

    def _put_answer(self, source: Source, function: FunctionType, skipped: int) -> None:
        """Insert a call before a function that may answer in its place."""
        before = function.__code__
        count, total = before.co_argcount, before.co_argcount + before.co_kwonlyargcount
        names = before.co_varnames[count:total]
        original = copy_of(function)
        # A code object of its own: `off` compares code objects by identity.
        original.__code__ = copied_code = before.replace()
        self._attribution.nest(copied_code)
        hit = self._attribution.hit(source, 2 if source.determined_by is None else 3)
        index = None if source.determined_by is None else parameter_of(before, source.determined_by, skipped)
        check = hit if index is None else _unless(source, hit)

        def answer(*values: Any) -> tuple[Any] | None:
            through = check() if index is None else check(values[index])
            if through is None:
                return None
            bound = original if not skipped else original.__get__(values[0])
            keyword_arguments = dict(zip(names, values[count:], strict=True))
            try:
                return (through(bound, *values[skipped:count], **keyword_arguments),)
            except BaseException as error:
                drop_frame(error)
                raise

        self._exchange(function, with_answer(before, answer, tuple(range(total))))

    def _put_in_code(
        self,
        function: FunctionType,
        hook: Hook | tuple[Hook, tuple[int, ...]],
        parameters: tuple[int, ...] = (),
    ) -> None:
        """Insert a call of a hook before a function's code."""
        if isinstance(hook, tuple):
            hook, parameters = hook
        self._exchange(function, with_call(function.__code__, hook, parameters))

    def _exchange(self, function: FunctionType, code: CodeType) -> None:
        """Replace a function's code. To undo that does nothing if others have replaced it since."""
        before = function.__code__
        self._attribution.nest(code)
        function.__code__ = code

        def undo() -> None:
            if function.__code__ is code:
                function.__code__ = before

        self._undo.append(undo)

    def _hook(self, source: Source, function: FunctionType, skipped: int) -> tuple[Hook, tuple[int, ...]]:
        """Return the hook to call before a function, and the indices of the parameters to pass to it."""
        hit = self._attribution.hit(source)
        argument = source.determined_by or source.mode
        index = None if argument is None else parameter_of(function.__code__, argument, skipped)
        return (hit, ()) if index is None else (_unless(source, self._attribution.hit(source, 2)), (index,))

    def _stand_in(self, source: Source, value: Any) -> StandIn:
        """Return the stand-in for a callable; the same one for all places of a callable."""
        original = value.autochron_original if isinstance(value, StandIn) else value
        existing = self._stand_ins.get(id(original))
        if existing is not None and existing.autochron_source is source:
            return existing
        calls_others = (
            not isinstance(original, BuiltinFunctionType)
            and source.places[0].partition(":")[0] not in _HIDDEN
        )
        call: Callable[..., Any] | None = None
        if source.determined_by or source.mode or calls_others:
            call = framed(original, self._framed_hook(source))
        hit = self._attribution.hit(source, 2) if call is None else None
        stand_in = self._type_for(original, framed=call is not None)(original, source, hit, call)
        return self._stand_ins.setdefault(id(original), stand_in) if existing is None else stand_in

    def _type_for(self, original: Any, *, framed: bool) -> type[StandIn]:
        """Return the type of stand-ins for such an original, named like the original's type for Python's messages."""
        key = (type(original).__name__, framed)
        if key not in self._types:
            call = CALLED if framed else self._call_getter
            body = {"__slots__": (), "__doc__": DOC, "__module__": MODULE, "__call__": call}
            self._types[key] = type(key[0], (StandIn,), body)
        return self._types[key]

    def _framed_hook(self, source: Source) -> Hook:
        """Return the hook of a stand-in that calls the original from a frame of ours. It takes the call's arguments."""
        argument = source.determined_by or source.mode
        if source.discards:
            return self._tentative_counts.hit(source, 2)
        if argument is None:
            return self._attribution.hit(source, 2)
        check = _unless(source, self._attribution.hit(source, 4))

        def hook(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            position, name = argument.position, argument.name
            return check(args[position] if len(args) > position else kwargs.get(name) if name else None)

        return hook

    # --- putting in and out ------------------------------------------------------------------------------------------

    def _replace(self, module: Any, name: str, value: Any) -> None:
        """Replace an attribute of a module."""
        before = vars(module)[name]
        setattr(module, name, value)
        if isinstance(value, StandIn):
            self._placed.append((module, name, before, value))

        def undo() -> None:
            if vars(module).get(name) is value:
                setattr(module, name, before)

        self._undo.append(undo)

    def _insert(self, owner: type, name: str, value: Any) -> None:
        """Set an attribute of a type, which may have inherited it before."""
        before = owner.__dict__.get(name, _MISSING)
        set_on_type(owner, name, value)
        self._placed.append((owner, name, before, value))

        def undo() -> None:
            if owner.__dict__.get(name) is value:
                set_on_type(owner, name, before)

        self._undo.append(undo)


def _unless(source: Source, hit: Hook) -> Hook:
    """Return a hook that counts a call unless the argument that it is given determines the source's value."""
    if source.determined_by is not None:

        def check(value: Any) -> Any:
            return hit() if value is None else None

    else:

        def check(value: Any) -> Any:
            return None if only_writes(value) else hit()

    return check


def only_writes(mode: object) -> bool:
    """Return whether a file that is opened with this mode can't be read."""
    return isinstance(mode, str) and mode[:1] in {"w", "x", "a"} and "+" not in mode


def find(place: str) -> PatchPoint | None:
    """Find what is at `module:qualname`; None if the module is not imported or has no such attribute."""
    module, _, qualname = place.partition(":")
    owner: Any = sys.modules.get(module)
    *path, name = qualname.split(".")
    for part in path:
        owner = getattr(owner, part, None)
    if owner is None:
        return None
    if not isinstance(owner, type):
        value = getattr(owner, "__dict__", {}).get(name, _MISSING)
        return None if value is _MISSING else PatchPoint(owner, name, value, own=True)
    for base in owner.__mro__:
        if name in base.__dict__:
            return PatchPoint(owner, name, base.__dict__[name], own=base is owner)
    return None


def function_of(value: Any) -> FunctionType | None:
    """Return the Python function that methods and wrappers lead to; None if there is none."""
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    while type(value) is FunctionType and type(value.__dict__.get("__wrapped__")) is FunctionType:
        value = value.__dict__["__wrapped__"]
    return value if type(value) is FunctionType else None


def copy_of(function: FunctionType) -> FunctionType:
    """Copy a function. The code of the copy can be changed without changing that of the original."""
    copied = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(copied, function, updated=("__dict__",))  # type: ignore[return-value]


def parameter_of(code: CodeType, argument: Argument, skipped: int) -> int | None:
    """Return the index of a parameter among a function's locals; None if it has no such parameter.

    Args:
        code: the function's code.
        argument: the parameter.
        skipped: how many leading parameters `argument.position` doesn't count: 1 for a method, whose first one is
            `self`.
    """
    positional = code.co_varnames[: code.co_argcount]
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if argument.name in named:
        return named.index(argument.name)
    index = argument.position + skipped
    return index if index < len(positional) else None


def set_on_type(owner: type, name: str, value: Any) -> None:
    """Set an attribute of a type, or delete it if the value is `_MISSING`. For a C type, change its dict directly."""
    try:
        if value is _MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
        return
    except TypeError:
        pass
    entries = gc.get_referents(owner.__dict__)[0]
    if value is _MISSING:
        del entries[name]
    else:
        entries[name] = value
    _modified()(owner)


@functools.cache
def _modified() -> Callable[[type], None]:
    """Return `PyType_Modified`, which clears the interpreter's cache of a type's attributes.

    `ctypes` takes 2 ms to import, so this uses `_ctypes` if it can.
    """
    import _ctypes  # lazy: only for C types

    if not hasattr(_ctypes, "dlsym"):
        import ctypes

        return lambda owner: ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))
    object_type = type("Object", (_ctypes._SimpleCData,), {"_type_": "O"})  # noqa: SLF001 - as `ctypes` does
    flags = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_PYTHONAPI
    body = {"_flags_": flags, "_restype_": None, "_argtypes_": (object_type,)}
    function: Callable[[int], Callable[[type], None]] = type("Function", (_ctypes.CFuncPtr,), body)
    return function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "PyType_Modified"))  # type: ignore[arg-type]  # None: this process
