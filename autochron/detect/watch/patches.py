"""Patches of sources in place: each put on and taken off on its own, and none changes what a source is.

Four ways, by what stands at a place:

- A Python function gets a call in front of its own code (`prologue`), which may answer for it where values are recorded.
- A callable of C in a module gets a stand-in: no descriptor, so that `class A: clock = time.time` goes on working. What it
  calls is the original, by the interpreter itself.
- A stand-in whose arguments decide, or beneath which other sources lie, calls the original from a frame of ours instead.
- A method in the dict of a C type gets a wrapper in that dict. The type itself stays: a subclass in its place breaks
  isinstance, pickling and pydantic, and replacing the C function itself is unsafe.

What a class inherits is patched in the class alone, by a copy.
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
from autochron.detect.catalogue import Argument, Source
from autochron.detect.watch.attribution import Attribution
from autochron.detect.watch.code_prologue import with_answer, with_call
from autochron.detect.watch.rollback import Tentative
from autochron.detect.watch.stand_ins import (
    CALLED,
    CALLING,
    DOC,
    MODULE,
    Forsaking,
    Hook,
    Stand,
    StandMethod,
    checked,
    framed,
)
from autochron.detect.watch.third_party_wrappers import path_to

Undo = Callable[[], None]

_HIDDEN = frozenset({"random", "numpy.random"})
"""Modules whose functions are methods of a hidden generator: beneath them lies no other source."""

_UNANSWERABLE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_VARARGS | CO_VARKEYWORDS
"""Functions that are not answered for: what calling them gives is made before they run, or they take any arguments."""

_MISSING = object()
_NO_SOURCE = Source("", "native")
_ClassMethodDescriptor = type(dict.__dict__["fromkeys"])


class PatchPoint:
    """What holds an attribute, and what stands there: in its own dict, or inherited."""

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
        self._tentative = Tentative(attribution)
        self._undo: list[Undo] = []
        self._placed: list[tuple[Any, str, Any, Any]] = []
        """What holds an attribute, its name, what stood there, and what stands there now."""
        self._counted: set[FunctionType] = set()
        self._stands: dict[int, Stand] = {}
        self._counting = property(attribution.getter())
        self._kinds: dict[tuple[str, bool], type[Stand]] = {}
        for code in CALLING:
            attribution.nest(code)

    def put(self, source: Source, place: str) -> bool:
        """Patch a source where it stands; False where there is nothing of that name, or nothing that can be patched."""
        spot = find(place)
        if spot is None:
            return False
        if place in source.forsaken:
            self._insert(spot.owner, spot.name, Forsaking(spot.value, self._tentative.take_back))
            return True
        if isinstance(spot.owner, type):
            return self._put_on_type(source, spot)
        function = function_of(spot.value)
        if function is not None:
            if function not in self._counted:  # one function may stand at several places
                self._counted.add(function)
                self._put_on_function(source, function, 0)
            return True
        if not callable(spot.value) or isinstance(spot.value, type):
            return False
        self._replace(spot.owner, spot.name, self._stand_in(source, spot.value))
        return True

    def carry(self, place: str, hook: Hook, parameters: tuple[int, ...]) -> None:
        """Have a hook called with some of its parameters before a function that hands something over runs."""
        path = path_to(place)
        if path:
            self._put_in_code(path[-1], hook, parameters)

    def stand_before(self, place: str, hook: Hook) -> None:
        """Have a callable of C called through what a hook gives, where it gives something."""
        spot = find(place)
        if spot is not None:
            called = framed(spot.value, hook)
            stand = self._kind(spot.value, framed=True)(spot.value, _NO_SOURCE, None, called)
            self._stands[id(spot.value)] = stand
            self._replace(spot.owner, spot.name, stand)

    def shield(self, place: str) -> None:
        """Copy into a class what it inherits, which stays as it was."""
        spot = find(place)
        function = spot and function_of(spot.value)
        if spot is not None and function and not spot.own:
            self._insert(spot.owner, spot.name, copy_of(function))

    def quiet(self, place: str) -> None:
        """Have nothing counted beneath a function."""
        spot = find(place)
        function = spot and function_of(spot.value)
        if function:
            self._attribution.nest(function.__code__)

    def uncover(self, place: str) -> None:
        """Have every source stand at its place again while a function runs that changes functions of C in place."""
        spot = find(place)
        if spot is None:
            return

        def uncovered(*args: Any, **kwargs: Any) -> Any:
            self.turn(uncovered=True)
            try:
                return spot.value(*args, **kwargs)
            finally:
                self.turn(uncovered=False)

        self._replace(spot.owner, spot.name, functools.wraps(spot.value)(uncovered))

    def turn(self, *, uncovered: bool) -> None:
        """Take off what stands in the place of sources of C, or put it on again."""
        for owner, name, before, value in reversed(self._placed) if uncovered else self._placed:
            there, wanted = (value, before) if uncovered else (before, value)
            if vars(owner).get(name, _MISSING) is there:
                if isinstance(owner, type):
                    set_on_type(owner, name, wanted)
                else:
                    setattr(owner, name, wanted)

    def adopt(self, module: ModuleType) -> None:
        """Put stand-ins where a module of the project holds what they stand for under names of its own."""
        for name, value in list(vars(module).items()):
            stand = self._stands.get(id(value))
            if stand is not None and value is stand.autochron_original:
                self._replace(module, name, stand)

    def off(self) -> None:
        """Take every patch off; what someone else has put on one since stays, and ours does nothing more."""
        while self._undo:
            self._undo.pop()()

    # --- the ways ----------------------------------------------------------------------------------------------------

    def _put_on_type(self, source: Source, spot: PatchPoint) -> bool:
        function = function_of(spot.value)
        if function is not None:
            if not spot.own:
                function = copy_of(function)
            self._put_on_function(source, function, int(not isinstance(spot.value, staticmethod)))
            if not spot.own:
                kind = type(spot.value)
                self._insert(
                    spot.owner, spot.name, kind(function) if kind in {classmethod, staticmethod} else function
                )
            return True
        if isinstance(spot.value, _ClassMethodDescriptor):
            hook = self._attribution.hit(source, 2)
            kind = self._kind(spot.value.__get__(None, spot.owner), framed=source.asks)
            self._insert(spot.owner, spot.name, StandMethod(spot.value, source, spot.owner, kind, hook))
            return True
        return False

    def _put_on_function(self, source: Source, function: FunctionType, skipped: int) -> None:
        """Have a function counted when it is called; or answered for, where its value may be recorded."""
        if self._attribution.may_answer(source) and not function.__code__.co_flags & _UNANSWERABLE:
            self._put_answer(source, function, skipped)
        else:
            self._put_in_code(function, self._hook(source, function, skipped))

    def _put_answer(self, source: Source, function: FunctionType, skipped: int) -> None:
        before = function.__code__
        count, all_of = before.co_argcount, before.co_argcount + before.co_kwonlyargcount
        names = before.co_varnames[count:all_of]
        original = copy_of(function)
        original.__code__ = beneath = before.replace()  # an object of its own, so that `off` knows the other
        self._attribution.nest(beneath)
        hit = self._attribution.hit(source, 2 if source.given is None else 3)
        index = None if source.given is None else parameter_of(before, source.given, skipped)
        check = hit if index is None else _unless(source, hit)

        def answer(*values: Any) -> tuple[Any] | None:
            through = check() if index is None else check(values[index])
            if through is None:
                return None
            bound = original if not skipped else original.__get__(values[0])
            named = dict(zip(names, values[count:], strict=True))
            return (through(bound, *values[skipped:count], **named),)

        self._exchange(function, with_answer(before, answer, tuple(range(all_of))))

    def _put_in_code(
        self,
        function: FunctionType,
        hook: Hook | tuple[Hook, tuple[int, ...]],
        parameters: tuple[int, ...] = (),
    ) -> None:
        if isinstance(hook, tuple):
            hook, parameters = hook
        self._exchange(function, with_call(function.__code__, hook, parameters))

    def _exchange(self, function: FunctionType, code: CodeType) -> None:
        before = function.__code__
        self._attribution.nest(code)
        function.__code__ = code

        def undo() -> None:
            if function.__code__ is code:
                function.__code__ = before

        self._undo.append(undo)

    def _hook(self, source: Source, function: FunctionType, skipped: int) -> tuple[Hook, tuple[int, ...]]:
        """Return what is called before a function, and the parameters which it is given."""
        hit = self._attribution.hit(source)
        argument = source.given or source.mode
        index = None if argument is None else parameter_of(function.__code__, argument, skipped)
        return (hit, ()) if index is None else (_unless(source, self._attribution.hit(source, 2)), (index,))

    def _stand_in(self, source: Source, value: Any) -> Stand:
        original = value.autochron_original if isinstance(value, Stand) else value
        known = self._stands.get(id(original))
        if known is not None and known.autochron_source is source:
            return known
        beneath = (
            not isinstance(original, BuiltinFunctionType)
            and source.places[0].partition(":")[0] not in _HIDDEN
        )
        called: Callable[..., Any] | None = None
        if source.given or source.mode or beneath:
            called = (checked if source.given and not source.forsaken else framed)(
                original, self._framed(source)
            )
        hit = self._attribution.hit(source, 2) if called is None else None
        stand = self._kind(original, framed=called is not None)(original, source, hit, called)
        return self._stands.setdefault(id(original), stand) if known is None else stand

    def _kind(self, original: Any, *, framed: bool) -> type[Stand]:
        """Return the type of what stands for such an original: Python's messages name it as they would the original's."""
        key = (type(original).__name__, framed)
        if key not in self._kinds:
            call = CALLED if framed else self._counting
            body = {"__slots__": (), "__doc__": DOC, "__module__": MODULE, "__call__": call}
            self._kinds[key] = type(key[0], (Stand,), body)
        return self._kinds[key]

    def _framed(self, source: Source) -> Hook:
        argument = source.given or source.mode
        if source.forsaken:
            return self._tentative.hit(source, 2)
        if argument is None:
            return self._attribution.hit(source, 2)
        check = _unless(source, self._attribution.hit(source, 4))

        def hook(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            position, name = argument.position, argument.name
            return check(args[position] if len(args) > position else kwargs.get(name) if name else None)

        return hook

    # --- putting in and out ------------------------------------------------------------------------------------------

    def _replace(self, module: Any, name: str, value: Any) -> None:
        before = vars(module)[name]
        setattr(module, name, value)
        if isinstance(value, Stand):
            self._placed.append((module, name, before, value))

        def undo() -> None:
            if vars(module).get(name) is value:
                setattr(module, name, before)

        self._undo.append(undo)

    def _insert(self, owner: type, name: str, value: Any) -> None:
        before = owner.__dict__.get(name, _MISSING)
        set_on_type(owner, name, value)
        self._placed.append((owner, name, before, value))

        def undo() -> None:
            if owner.__dict__.get(name) is value:
                set_on_type(owner, name, before)

        self._undo.append(undo)


def _unless(source: Source, hit: Hook) -> Hook:
    """Count only where the argument doesn't determine the value."""
    if source.given is not None:

        def check(value: Any) -> Any:
            return hit() if value is None else None

    else:

        def check(value: Any) -> Any:
            return None if only_writes(value) else hit()

    return check


def only_writes(mode: object) -> bool:
    """Return whether a file that is opened so can't be read."""
    return isinstance(mode, str) and mode[:1] in {"w", "x", "a"} and "+" not in mode


def find(place: str) -> PatchPoint | None:
    """Find what stands at `module:qualname`, in a module that is imported."""
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
    """Return the Python function at the bottom of methods and wrappers; None where there is none."""
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    while type(value) is FunctionType and type(value.__dict__.get("__wrapped__")) is FunctionType:
        value = value.__dict__["__wrapped__"]
    return value if type(value) is FunctionType else None


def copy_of(function: FunctionType) -> FunctionType:
    """Copy a function, with code that can be changed apart."""
    made = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(made, function, updated=("__dict__",))  # type: ignore[return-value]


def parameter_of(code: CodeType, argument: Argument, skipped: int) -> int | None:
    """Return the index of a parameter among a function's locals."""
    positional = code.co_varnames[: code.co_argcount]
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if argument.name in named:
        return named.index(argument.name)
    index = argument.position + skipped
    return index if index < len(positional) else None


def set_on_type(owner: type, name: str, value: Any) -> None:
    """Set an attribute of a type, or delete it, also of one of C, in its own dict."""
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
    """Return `PyType_Modified`: without it the interpreter goes on finding what it found in a type before.

    Not by `ctypes` where it can be helped, which takes 2 ms.
    """
    import _ctypes  # lazy: for types of C alone

    if not hasattr(_ctypes, "dlsym"):
        import ctypes

        return lambda owner: ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))
    held = type("Object", (_ctypes._SimpleCData,), {"_type_": "O"})  # noqa: SLF001 - as `ctypes` does
    flags = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_PYTHONAPI
    body = {"_flags_": flags, "_restype_": None, "_argtypes_": (held,)}
    function: Callable[[int], Callable[[type], None]] = type("Function", (_ctypes.CFuncPtr,), body)
    return function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "PyType_Modified"))  # type: ignore[arg-type]  # of this process
