"""Weave the functions of a module's code object, and of functions that exist already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from weakref import ref

from autochron._runtime.codeflags import function_kind, parameter_names
from autochron.errors import WeavingError
from autochron.weaving.gate import Point
from autochron.weaving.heap import every_function
from autochron.weaving.ledger import Ledger

if TYPE_CHECKING:
    from autochron.ports import Transport
    from autochron.weaving.binding import Binding


class Mark:
    """Why a definition is woven: the rules that fit it, and `transport`, the door of an HTTP client where it is one.

    `replaced` names the parameter whose value a token may replace, `needed` all that must be there; `passer` is what the
    function was passed to.
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
        """The qualified name where the code's is another: of a lambda, the name that it is assigned to."""
        self.trace = False
        """Whether each call of it has a trace of its own."""


CHANNELS = ("scope", "receive", "send")
"""The last parameters of what takes the requests of a server: an ASGI application."""

Places: TypeAlias = Mapping[tuple[str, int], Mark]
"""(qualified name, first line) of a definition to its mark."""


def weave_code(code: CodeType, module: str, places: Places, ledger: Ledger) -> CodeType:
    """Return a code object in which the functions at `places` are woven, however deep; the same object where none is."""
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
    """Describe a definition for the handler."""
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
        # The body of a request is not there when the call begins: it is heard while the function receives it.
        point.replaced = (len(parameters) - 2, len(parameters) - 1)
    return point


def _spliced(code: CodeType, module: str, mark: Mark, ledger: Ledger) -> CodeType:
    from autochron.weaving.splice import splice  # lazy: where a plan was kept, nothing is woven anew

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
    """Return whether anything in a code object is woven or bound, however deep."""
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
    """Weave the functions of an imported module in place, wherever they are held; give the undo.

    All that exist of a definition are found through the garbage collector: also those behind decorators, in tables, in
    closures, and early `from module import function` references, which are the same objects. `functions` is what was
    found for several modules at once.
    """
    # Weakly: a module that is imported anew, or a class that a call made, is collected as it would be.
    done: list[tuple[ref[FunctionType], CodeType, CodeType]] = []
    # By identity: equal code objects may come from different files, as those of a module and of its former self do.
    cache: dict[int, tuple[CodeType, CodeType]] = {}
    lines = {line for _, line in places}
    bind: Callable[[CodeType], CodeType] = lambda code: code  # noqa: E731 - the usual case
    if bindings:
        from autochron.weaving.binding import bind_calls  # lazy: with the first rule for a call that fits

        bind = lambda code: bind_calls(code, bindings, ledger)  # noqa: E731
    for function in (functions or Functions()).of(module):
        old = function.__code__
        if not bindings and not _concerns(old, places, lines):
            continue
        known = cache.get(id(old))
        if known is None:
            known = cache[id(old)] = (old, weave_code(bind(old), module, places, ledger))
        new = known[1]
        if new is not old:
            function.__code__ = new
            done.append((ref(function), old, new))

    def undo(functions: Functions | None = None) -> None:
        originals = {id(woven): original for _, old, new in done for woven, original in pairs_of(new, old)}
        for reference, old, new in done:
            woven = reference()
            if woven is not None and woven.__code__ is new:
                woven.__code__ = old
        # Others were made since, by woven code.
        for function in (functions or Functions()).of(module) if originals else ():
            original = originals.get(id(function.__code__))
            if original is not None:
                function.__code__ = original

    return undo


def pairs_of(woven: CodeType, original: CodeType) -> Iterable[tuple[CodeType, CodeType]]:
    """Yield each woven code object with what it was before, also the nested ones.

    What stands elsewhere by now is left out: a source may have been changed since.
    """
    yield woven, original
    former = [each for each in original.co_consts if isinstance(each, CodeType)]
    for inner in woven.co_consts:
        if not isinstance(inner, CodeType):
            continue
        place = (inner.co_qualname, inner.co_firstlineno)
        at = next(
            (at for at, each in enumerate(former) if (each.co_qualname, each.co_firstlineno) == place), None
        )
        if at is not None and former[at] is not inner:
            yield from pairs_of(inner, former.pop(at))


class Functions:
    """Every function that the garbage collector knows.

    It is looked for once, when first asked: a program with a large SDK has 600,000 objects, and several modules that rules
    mean something to. It holds them all, so it is kept no longer than it takes to weave them, or to weave them anew.
    """

    __slots__ = ("_all", "_by_module", "_count")

    def __init__(self) -> None:
        self._all: list[FunctionType] | None = None
        self._by_module: dict[str, list[FunctionType]] = {}
        self._count = 0
        """How often those of a module were asked for: for a few it is sooner done to look through them again."""

    def all(self) -> Iterable[FunctionType]:
        """Return all."""
        if self._all is None:
            self._all = list(every_function())
        return self._all

    def of(self, module: str) -> Iterable[FunctionType]:
        """Return those of a module."""
        self._count += 1
        if self._count <= _FEW:
            return [each for each in self.all() if each.__module__ == module]
        if not self._by_module:
            for each in self.all():
                if type(each.__module__) is str:
                    self._by_module.setdefault(each.__module__, []).append(each)
        return self._by_module.get(module, ())


_FEW = 4


class Undo(Protocol):
    """Takes weaving off; `functions` is what was found for several at once."""

    def __call__(self, functions: Functions | None = None) -> None:
        """Take it off."""


def _concerns(code: CodeType, places: Places, lines: set[int]) -> bool:
    if code.co_firstlineno in lines and (code.co_qualname, code.co_firstlineno) in places:
        return True
    return any(_concerns(each, places, lines) for each in code.co_consts if type(each) is CodeType)


def weave_function(function: FunctionType, mark: Mark, ledger: Ledger) -> Callable[[], None] | None:
    """Weave one function in place; give the undo, or None where it can't be woven."""
    old = function.__code__
    new = _spliced(old, function.__module__, mark, ledger)
    if new is old:
        return None
    function.__code__ = new

    def undo() -> None:
        if function.__code__ is new:
            function.__code__ = old

    return undo
