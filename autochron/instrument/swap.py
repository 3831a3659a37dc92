"""Run a candidate in the place of a function on a replay, without installing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from msgspec import structs
from msgspec.json import decode

from autochron._runtime.unpatched import os
from autochron.crossing.crossing import Crossing
from autochron.crossing.tokens import SuspendableToken
from autochron.errors import PlanError
from autochron.model import Place, Rules, SwapRule, Target
from autochron.project import module_names
from autochron.weaving.delegation import Relay

if TYPE_CHECKING:
    from autochron.crossing.kernel import Kernel
    from autochron.crossing.kernels import Kernels
    from autochron.instrument.activation import Activation
    from autochron.weaving.gate import Point

_PLACE = Place("--swap", 0)

_inside: ContextVar[frozenset[str]] = ContextVar("autochron_swapped", default=frozenset())
"""The functions in whose place something runs now: where that calls the old one, it is meant."""


class Swap:
    """One function in the place of another.

    Attributes:
        old, new: as they were given: `module:name` or `file.py:name`; the new one may be a callable.
        calls: how often the new one was called.
    """

    def __init__(self, old: str, new: str | Callable[..., Any], root: str) -> None:
        self.old = old
        self.new = new
        self.calls = 0
        self.reached: list[int] = []
        """For each of these calls, how often it went on to the old one."""
        self.fault = ""
        """Why the new one could not be called."""
        self.main: tuple[str, ...] = ()
        """What the running script would be imported as."""
        self._root = root
        self.module, self.qualname = _split(old)
        if "<locals>" in self.qualname:
            raise PlanError(
                f"swap {old}: a function inside a function can't be named; swap the one around it"
            )
        self.target = _split(new) if isinstance(new, str) else None
        if self.target is not None:
            self._check(*self.target)
        self._function: Callable[..., Any] | None = None
        self.before_call: Callable[[], None] | None = None
        """What is done before the new one is called."""

    def _check(self, module: str, qualname: str) -> None:
        """Refuse what can't be there: PlanError, before the program starts."""
        if module.endswith(".py") and not os.path.isfile(self._path(module)):
            raise PlanError(f"swap {self.old}: there is no file {module}, in which {qualname} was to be")

    def _path(self, module: str) -> str:
        return module if os.path.isabs(module) else os.path.join(self._root, module)

    def names(self) -> tuple[str, ...]:
        """Return the modules whose function may be meant."""
        if not self.module.endswith(".py"):
            return (self.module,)
        path = self._path(self.module)
        if not os.path.isfile(path):
            raise PlanError(f"swap {self.old}: there is no file {self.module}")
        return (*module_names(path), "__main__")

    def is_of(self, point: Point, activation: Activation) -> bool:
        """Return whether a woven definition is the one to be replaced."""
        if point.qualname != self.qualname or point.called != point.qualname:
            return False
        if self.module.endswith(".py"):
            return os.path.realpath(point.file) == os.path.realpath(self._path(self.module))
        return self.module in (point.module, *activation.planner.aliases.get(point.module, ()))

    def is_by(self, point: Point) -> bool:
        """Return whether a woven definition is the one that replaces."""
        if point.called != point.qualname:
            return False
        new: Any = self._function
        while hasattr(new, "__wrapped__"):
            new = new.__wrapped__
        code = getattr(new, "__code__", None)
        return code is not None and (code.co_filename, code.co_firstlineno, code.co_qualname) == (
            point.file,
            point.line,
            point.qualname,
        )

    def function(self) -> Callable[..., Any]:
        """Return the new function; its module is imported with the first call. PlanError where it isn't there."""
        if self._function is None:
            if callable(self.new):
                self._function = self.new
            else:
                assert self.target is not None  # noqa: S101 - it is given by name
                # A candidate that imports from the script means the one that runs, not another copy of it.
                lent = {name: sys.modules["__main__"] for name in self.main if name not in sys.modules}
                sys.modules.update(lent)
                try:
                    self._function = self._find(*self.target)
                except PlanError as error:
                    self.fault = str(error)
                    raise
                except Exception as error:  # its module raised
                    self.fault = f"swap {self.old}={self.new}: {type(error).__name__}: {error}"
                    raise
                finally:
                    for name, module in lent.items():
                        if sys.modules.get(name) is module:
                            del sys.modules[name]
        return self._function

    def _find(self, module: str, qualname: str) -> Callable[..., Any]:
        owner: Any = self._module(module)
        for step in qualname.split("."):
            found = getattr(owner, step, None)
            if found is None:
                from autochron.rules.nearest import nearest  # lazy: difflib

                near = nearest([name for name in dir(owner) if not name.startswith("_")], step)
                hint = f"; the nearest is {near}" if near else ""
                raise PlanError(f"swap {self.old}={self.new}: {module} has no {qualname}{hint}")
            owner = found
        if not callable(owner):
            raise PlanError(f"swap {self.old}={self.new}: {qualname} is not callable")
        function: Callable[..., Any] = getattr(owner, "__func__", owner)
        return function

    def _module(self, module: str) -> Any:
        if not module.endswith(".py"):
            from importlib import import_module  # lazy: with the first call of a candidate

            try:
                return import_module(module)
            except ModuleNotFoundError as error:
                raise PlanError(f"swap {self.old}={self.new}: {error}") from None
        path = os.path.realpath(self._path(module))
        there = _loaded(path)
        if there is not None:
            return there
        import importlib.util  # lazy: as above

        names = module_names(path)
        dotted, name = names[0], names[-1]
        if "." in dotted:  # in a package it may import from that
            try:
                found = importlib.util.find_spec(dotted)
            except ImportError:  # of the package, which is found from elsewhere
                found = None
            if found is not None and os.path.realpath(found.origin or "") == path:
                return importlib.import_module(dotted)

        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - of a `.py` file that is there
        made = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(name, made)
        try:
            spec.loader.exec_module(made)
        except BaseException:  # as an import does: else the next call would find half of it
            if sys.modules.get(name) is made:
                del sys.modules[name]
            raise
        return made

    def install(self) -> None:
        """Put the new function into the old one's place for good: its module has the new one under that name from now on.

        Raises:
            PlanError: one of the two isn't there.
        """
        new = self.function()  # first: its module may take the old one from where it is
        owner: Any = self._module(self.module)
        *path, name = self.qualname.split(".")
        for step in path:
            owner = getattr(owner, step)
        setattr(owner, name, new)

    def never_called(self) -> str:
        """Say that it was of no use."""
        return self.fault or (
            f"{self.old} was to be swapped and was never called; name it as the trace does (`autochron traces show`) or as"
            " module:name, and see that what calls it is live"
        )


_found_as: dict[str, str] = {}
"""The names of modules that were found by their files."""


def _loaded(path: str) -> Any:
    """Return the module of a file, if it is loaded; None otherwise."""
    known = sys.modules.get(_found_as.get(path, ""))
    if known is not None and os.path.realpath(getattr(known, "__file__", None) or "") == path:
        return known
    base = os.path.basename(path)
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        # The name first: to resolve the files of a thousand modules takes longer than most replays.
        if file and os.path.basename(file) == base and os.path.realpath(file) == path:
            # Kept, for to look at a thousand modules copies a page for each in a fork.
            _found_as[path] = name
            return module
    return None


def _split(text: str) -> tuple[str, str]:
    module, colon, qualname = text.rpartition(":")
    if (
        not colon
        or not module
        or not all(part.isidentifier() or part == "<locals>" for part in qualname.split("."))
    ):
        raise PlanError(f"swap {text!r}: name a function as module:name or file.py:name")
    return module, qualname


def swaps_for(
    wanted: Mapping[str, str | Callable[..., Any]] | Iterable[tuple[str, Any]], rules: Rules
) -> tuple[Swap, ...]:
    """Settle what is swapped; PlanError where something means nothing."""
    pairs = list(wanted.items()) if isinstance(wanted, Mapping) else wanted
    found: dict[str, Swap] = {}
    for pair in pairs:
        given: Sequence[Any] = pair  # what a caller really gave
        if len(given) != 2 or not isinstance(given[0], str):
            raise PlanError(f"swap={wanted!r}: give what to swap as {{'module:name': 'module:name'}}")
        old, new = pair
        if not (isinstance(new, str) or callable(new)):
            raise PlanError(f"swap {old}: {new!r} is no function; give one, or its module:name")
        if old in found:
            raise PlanError(f"swap {old}: it is swapped twice, for {found[old].new} and {new}")
        found[old] = Swap(old, new, rules.root or os.getcwd())
    return tuple(found.values())


def read_swaps(path: str, rules: Rules) -> tuple[Swap, ...]:
    """Return the swaps of the replay that this process takes part in."""
    if not os.path.exists(path):
        return ()
    with open(path, "rb") as file:
        pairs = decode(file.read())
    return swaps_for({old: _unnamed(old) if new is None else new for old, new in pairs}, rules)


def _unnamed(old: str) -> Callable[..., Any]:
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise PlanError(f"swap {old}: in another process the new function must be named as module:name")

    return refuse


def with_swaps(rules: Rules, swaps: tuple[Swap, ...]) -> Rules:
    """Return rules by which the functions to be replaced are woven, whether they are boundaries or not."""
    if not swaps:
        return rules
    targets = [Target(name, swap.qualname) for swap in swaps for name in swap.names()]
    return structs.replace(
        rules,
        swaps=tuple(SwapRule(target, _PLACE) for target in targets),
        digest="+".join((rules.digest, *map(str, targets))),
    )


class Swapping:
    """What woven code calls where functions are swapped: the kernel, but for these."""

    def __init__(self, inner: Kernel | Kernels, swaps: tuple[Swap, ...], activation: Activation) -> None:
        self._inner = inner
        self._swaps = swaps
        self._activation = activation
        self._known: dict[Point, Swap | None] = {}
        self.current = inner.current
        for swap in swaps:
            swap.main = activation.planner.aliases.get("__main__", ())

    def enter(self, point: Point, arguments: tuple[Any, ...]) -> Any:
        """Begin a crossing, and have the new function called in it where the old one is live or no boundary."""
        swap = self._known.get(point, self)
        if swap is self:
            swap = self._known[point] = next(
                (each for each in self._swaps if each.is_of(point, self._activation)), None
            )
        if swap is None:
            if any(each.is_by(point) for each in self._swaps):
                return None  # the crossing is the old one's
            return self._inner.enter(point, arguments)
        assert isinstance(swap, Swap)  # noqa: S101 - `self` stands for what is not known yet
        if swap.old in _inside.get():
            if swap.reached:
                swap.reached[-1] += 1
            return None
        token = self._inner.enter(point, arguments)
        if token is None or type(token) in (Crossing, SuspendableToken):
            return Swapped(swap, token, point, arguments)
        return token


class Swapped:
    """A call of the old function that is one of the new. It is false, which tells woven code not to run the body."""

    __slots__ = ("_arguments", "_point", "_stream", "_swap", "_thrown", "_token")

    def __init__(
        self,
        swap: Swap,
        token: Crossing[Any] | SuspendableToken | None,
        point: Point,
        arguments: tuple[Any, ...],
    ) -> None:
        self._swap = swap
        self._token = token
        self._stream: Any = None
        self._thrown: BaseException | None = None
        self._point, self._arguments = point, arguments

    def __bool__(self) -> bool:
        return False

    def _call(self) -> Any:
        """Call the new function. What is wrong with it is raised here, where the crossing is ended with it."""
        function = self._swap.function()
        positional, keywords = _call_of(self._swap, self._point, self._arguments)
        self._swap.calls += 1
        self._swap.reached.append(0)
        if self._swap.before_call is not None:
            self._swap.before_call()
        try:
            return function(*positional, **keywords)
        except PlanError as error:  # it can't be had here
            self._swap.fault = str(error)
            raise

    def outcome(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a plain function."""
        mark = _inside.set(_inside.get() | {self._swap.old})
        try:
            value = self._call()
        except BaseException as error:
            return self._failed(error), None
        finally:
            _inside.reset(mark)
        return None, value if self._token is None else self._token.returned(value)

    async def outcome_async(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a coroutine function."""
        mark = _inside.set(_inside.get() | {self._swap.old})
        try:
            value = self._call()
            if hasattr(type(value), "__await__") or type(value) is GeneratorType:
                value = await value
        except BaseException as error:
            return self._failed(error), None
        finally:
            _inside.reset(mark)
        return None, value if self._token is None else self._token.ended(value)

    def items(self) -> Any:
        """Yield the items for a generator function; its value is (error, value)."""
        try:
            iterator = self._stepped()
            relay: Any = iterator if self._token is None else Relay(self._token, iterator)
            value = yield from relay
        except BaseException as error:
            return self._failed(error), None
        return None, value if self._token is None else self._token.ended(value)

    def _stepped(self) -> Generator[Any, Any, Any]:
        """Run the new generator. Inside it, a call of the old one is meant; between its steps others run."""
        iterator: Any = None
        sent: Any = None
        thrown: BaseException | None = None
        while True:
            mark = _inside.set(_inside.get() | {self._swap.old})
            try:
                if iterator is None:
                    iterator = iter(self._call())
                if thrown is not None:
                    if not hasattr(iterator, "throw"):
                        raise thrown
                    item = iterator.throw(thrown)
                elif sent is not None and hasattr(iterator, "send"):
                    item = iterator.send(sent)
                else:
                    item = next(iterator)
            except StopIteration as end:
                return end.value
            finally:
                _inside.reset(mark)
            sent = thrown = None
            try:
                sent = yield item
            except GeneratorExit:
                if hasattr(iterator, "close"):
                    iterator.close()
                raise
            except BaseException as error:
                thrown = error

    async def step_async(self, sent: Any) -> tuple[bool, BaseException | None, Any]:
        """Return (done, error, item) for an asynchronous generator function."""
        token, thrown = self._token, self._thrown
        self._thrown = None
        if token is not None:
            token.resumed()
        mark = _inside.set(_inside.get() | {self._swap.old})
        try:
            if self._stream is None:
                self._stream = self._call().__aiter__()
            stream = self._stream
            if thrown is not None:
                if not hasattr(stream, "athrow"):
                    raise thrown
                item = await stream.athrow(thrown)
            elif sent is not None and hasattr(stream, "asend"):
                item = await stream.asend(sent)
            else:
                item = await stream.__anext__()
        except StopAsyncIteration:
            if token is not None:
                token.ended(None)
            return True, None, None
        except BaseException as error:
            return True, self._failed(error), None
        finally:
            _inside.reset(mark)
        if token is not None:
            token.yielded(item)
        return False, None, item

    def thrown(self, error: BaseException) -> bool:
        """Keep what is thrown into an asynchronous generator, for the next step."""
        self._thrown = error
        return False

    def _failed(self, error: BaseException) -> BaseException:
        if self._token is not None:
            self._token.raised(error)
        return error


def _call_of(swap: Swap, point: Point, arguments: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
    """Return how the new function is called: by name where it can be, else in the order of the old one's parameters.

    By name, since tools are called so, and since its parameters may stand in another order. PlanError where neither goes.
    """
    import inspect  # lazy: 10 ms, and child processes import this module

    given = dict(zip(point.parameters, arguments, strict=False))
    rest, extra = (given.pop(name) if name else () for name in point.variadic)
    values = [*given.values(), *rest]
    try:
        signature = inspect.signature(swap.function())
    except (TypeError, ValueError):  # a callable of C's that doesn't tell
        return values, dict(extra)
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    leading = kinds.count(inspect.Parameter.POSITIONAL_ONLY)
    last = {
        name: value
        for name, value in given.items()
        if name in signature.parameters and signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    }
    by_name = (values[:leading], dict(list(given.items())[leading:]) | dict(extra))
    by_place = (
        [*(value for name, value in given.items() if name not in last), *rest],
        last | dict(extra),
    )
    why: TypeError | None = None
    for call in (by_place,) if rest else (by_name, by_place):
        try:
            signature.bind(*call[0], **call[1])
        except TypeError as error:
            why = error
        else:
            return call
    swap.fault = f"swap {swap.old}={swap.new}: it can't be called as the old one was: {why}"
    raise PlanError(swap.fault)
