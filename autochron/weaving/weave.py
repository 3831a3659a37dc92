"""Weave the functions in a module's code object, and functions that exist already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from weakref import ref

from autochron._runtime.codeflags import function_kind, parameter_names
from autochron.errors import WeavingError
from autochron.weaving.gate import Point
from autochron.weaving.heap import Heap
from autochron.weaving.ledger import Ledger

if TYPE_CHECKING:
    from autochron.ports import Transport
    from autochron.weaving.binding import Binding


class Mark:
    """Why a definition is woven.

    Attributes:
        name: its qualified name, if that is not the code's: for a lambda, the name that it is assigned to.
        needed: parameters that it must have.
        passer: the definition that the function was passed to.
        replaced: the parameter whose value a token may replace; None if there is none.
        rules: the rules that fit it.
        trace: whether each call has a trace of its own.
        transport: the HTTP client's door, if this is the function that all requests of the client pass through.
    """

    __slots__ = ("name", "needed", "passer", "replaced", "rules", "trace", "transport")

    def __init__(
        self,
        rules: tuple[Any, ...],
        *,
        transport: Transport | None = None,
        replaced: str | None = None,
        needed: tuple[str, ...] = (),
    ) -> None:
        self.rules = rules
        self.transport = transport
        self.replaced = replaced
        self.needed = needed
        self.passer: Point | None = None
        self.name = ""
        self.trace = False


CHANNELS = ("scope", "receive", "send")
"""The last parameters of an ASGI application."""

Places: TypeAlias = Mapping[tuple[str, int], Mark]
"""The mark of each definition, by (qualified name, first line)."""


def weave_code(code: CodeType, module: str, places: Places, ledger: Ledger) -> CodeType:
    """Return a code object in which the functions at `places` are woven, also nested ones; the same object if none is.

    A function that can't be woven stays as it is, and the ledger gets the reason.
    """
    constants = code.co_consts
    changed = False
    woven: list[Any] = []
    for constant in constants:
        new = weave_code(constant, module, places, ledger) if isinstance(constant, CodeType) else constant
        changed = changed or new is not constant
        woven.append(new)
    if changed:
        code = code.replace(co_consts=tuple(woven))
    mark = places.get((code.co_qualname, code.co_firstlineno))
    return code if mark is None else _spliced(code, module, mark, ledger)


def point_of(code: CodeType, module: str, mark: Mark) -> Point:
    """Return the point of a definition.

    Raises:
        WeavingError: it lacks a parameter that the mark needs.
    """
    parameters, variadic = parameter_names(code)
    point = Point(
        module,
        mark.name or code.co_qualname,
        parameters,
        function_kind(code),
        variadic=variadic,
        file=code.co_filename,
        line=code.co_firstlineno,
        rules=mark.rules,
    )
    point.transport = mark.transport
    point.trace = mark.trace
    point.passer = mark.passer
    for name in mark.needed:
        if name not in parameters:
            raise WeavingError(f"it has no parameter `{name}`; it has {', '.join(parameters) or 'none'}")
    if mark.replaced is not None:
        point.replaced = (parameters.index(mark.replaced),)
    elif mark.trace and parameters[-3:] == CHANNELS:
        # The body of a request arrives only during the call, so the channels are replaced by ones that observe it.
        point.replaced = (len(parameters) - 2, len(parameters) - 1)
    return point


def _spliced(code: CodeType, module: str, mark: Mark, ledger: Ledger) -> CodeType:
    from autochron.weaving.splice import splice  # lazy: not needed for code from the cache

    if is_woven(code):
        ledger.refuse(f"{module}:{code.co_qualname}", "it is woven already", "woven-twice")
        return code
    try:
        point = point_of(code, module, mark)
        woven = splice(code, point)
    except WeavingError as error:
        ledger.refuse(f"{module}:{code.co_qualname}", error.message)
        return code
    ledger.woven(point)
    return woven


def is_woven(code: CodeType) -> bool:
    """Return whether a code object crosses a point itself."""
    return any(type(constant) is Point for constant in code.co_consts)


def has_woven(code: CodeType) -> bool:
    """Return whether a code object or a nested one is woven or has a bound call."""
    return any(
        (type(constant) is CodeType and has_woven(constant))
        or type(constant) is Point
        or (type(constant) is MethodType and type(constant.__self__).__name__ == "CodeSite")
        for constant in code.co_consts
    )


def weave_functions(
    module: str,
    places: Places,
    ledger: Ledger,
    bindings: Sequence[Binding] = (),
    functions: Functions | None = None,
) -> Undo:
    """Weave the functions of an imported module in place, and return the function that undoes it.

    All function objects of a definition are found through the garbage collector: also those behind decorators, in tables
    and in closures. Early `from module import function` references are the same objects.

    Args:
        module: the module's name.
        places: the definitions to weave.
        ledger: notes what is woven, and what is not and why.
        bindings: the call sites to bind.
        functions: the functions of the process, if the caller has collected them for several modules.
    """
    # Weakly: a module that is imported anew, or a class that a call made, is collected as it would be.
    changed: list[tuple[ref[FunctionType], CodeType, CodeType]] = []
    # By identity: equal code objects may belong to different files, or to a module before and after a reload.
    cache: dict[int, tuple[CodeType, CodeType]] = {}
    lines = {line for _, line in places}
    bind = _binder(bindings, ledger)
    for function in (functions or Functions()).of(module):
        old = function.__code__
        if not bindings and not _concerns(old, places, lines):
            continue
        pair = cache.get(id(old))
        if pair is None:
            pair = cache[id(old)] = (old, weave_code(bind(old), module, places, ledger))
        new = pair[1]
        if new is not old:
            function.__code__ = new
            changed.append((ref(function), old, new))

    def undo(functions: Functions | None = None) -> None:
        originals = {id(woven): original for _, old, new in changed for woven, original in pairs_of(new, old)}
        for reference, old, new in changed:
            woven = reference()
            if woven is not None and woven.__code__ is new:
                woven.__code__ = old
        # Woven code has made other functions since.
        for function in (functions or Functions()).of(module) if originals else ():
            original = originals.get(id(function.__code__))
            if original is not None:
                function.__code__ = original

    return undo


def _binder(bindings: Sequence[Binding], ledger: Ledger) -> Callable[[CodeType], CodeType]:
    """Return a function that binds the calls in a code object."""
    if not bindings:
        return lambda code: code
    from autochron.weaving.binding import bind_calls  # lazy: with the first rule for a call that fits

    return lambda code: bind_calls(code, bindings, ledger)


def pairs_of(woven: CodeType, original: CodeType) -> Iterable[tuple[CodeType, CodeType]]:
    """Yield each woven code object with its original, also the nested ones.

    One whose original is at another line is left out: the source may have changed since.
    """
    yield woven, original
    former = [constant for constant in original.co_consts if isinstance(constant, CodeType)]
    for inner in woven.co_consts:
        if not isinstance(inner, CodeType):
            continue
        place = (inner.co_qualname, inner.co_firstlineno)
        index = next(
            (
                index
                for index, constant in enumerate(former)
                if (constant.co_qualname, constant.co_firstlineno) == place
            ),
            None,
        )
        if index is not None and former[index] is not inner:
            yield from pairs_of(inner, former.pop(index))


class Functions:
    """All functions of the process. They are collected once, on first use.

    A program with a large SDK has 600,000 objects, and several modules in which rules match. This object keeps functions
    alive, so it must live no longer than the weaving or unweaving takes.
    """

    __slots__ = ("_heap",)

    def __init__(self) -> None:
        self._heap: Heap | None = None

    @property
    def heap(self) -> Heap:
        """The functions of the process when they were first asked for."""
        if self._heap is None:
            self._heap = Heap()
        return self._heap

    def all(self) -> Iterable[FunctionType]:
        """Return all functions."""
        return self.heap.functions()

    def of(self, module: str) -> Iterable[FunctionType]:
        """Return the functions of a module."""
        return self.heap.of(module)


class Undo(Protocol):
    """Undoes the weaving of one module."""

    def __call__(self, functions: Functions | None = None) -> None:
        """Restore the original code; `functions` are those of the process, if the caller has collected them already."""


def _concerns(code: CodeType, places: Places, lines: set[int]) -> bool:
    if code.co_firstlineno in lines and (code.co_qualname, code.co_firstlineno) in places:
        return True
    return any(
        _concerns(constant, places, lines) for constant in code.co_consts if type(constant) is CodeType
    )


def weave_function(function: FunctionType, mark: Mark, ledger: Ledger) -> Callable[[], None] | None:
    """Weave one function in place, and return the function that undoes it; None if it can't be woven."""
    old = function.__code__
    new = _spliced(old, function.__module__, mark, ledger)
    if new is old:
        return None
    function.__code__ = new

    def undo() -> None:
        if function.__code__ is new:
            function.__code__ = old

    return undo
