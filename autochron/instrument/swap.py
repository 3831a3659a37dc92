"""Replace a function by a candidate during a replay, without installing the candidate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs
from msgspec.json import decode

from autochron._runtime.unpatched import os
from autochron.crossing.crossing import Crossing
from autochron.crossing.tokens import SuspendableToken
from autochron.errors import PlanError
from autochron.instrument.held_function import held_function
from autochron.instrument.swapped import INSIDE, Swapped
from autochron.model import Place, Rules, SwapRule, Target
from autochron.project import module_names, path_of

if TYPE_CHECKING:
    from autochron.crossing.kernel import Kernel
    from autochron.crossing.kernels import Kernels
    from autochron.instrument.activation import Activation
    from autochron.weaving.gate import Point

_PLACE = Place("--swap", 0)
"""The place of rules that are made for swaps."""


class Swap:
    """A function that is replaced, and its replacement.

    Attributes:
        old: the function, as `module:name` or `file.py:name`.
        new: the replacement, in the same form or as a callable.
        calls: number of calls of the replacement.
        reached: for each of these calls, how often it called the old function.
        fault: why the replacement could not be called; empty if it could.
        main: names by which the running script would be imported.
        module: module or file of the old function.
        qualname: qualified name of the old function.
        target: module or file of the replacement, and its qualified name; None if it is a callable.
        before_call: called before the replacement, and before its module is imported.
    """

    def __init__(self, old: str, new: str | Callable[..., Any], root: str) -> None:
        self.old = old
        self.new = new
        self.calls = 0
        self.reached: list[int] = []
        self.fault = ""
        self.main: tuple[str, ...] = ()
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
        self._is_known_missing = False
        self.before_call: Callable[[], None] | None = None

    def _check(self, module: str, qualname: str) -> None:
        """Refuse a replacement in a file that doesn't exist, before the program starts.

        Raises:
            PlanError: there is no such file.
        """
        if module.endswith(".py") and not os.path.isfile(self._path(module)):
            raise PlanError(f"swap {self.old}: there is no file {module}, in which {qualname} was to be")

    def _path(self, module: str) -> str:
        return path_of(self._root, module)

    def names(self) -> tuple[str, ...]:
        """Return the names of the modules that may have the old function.

        Raises:
            PlanError: there is no such file.
        """
        if not self.module.endswith(".py"):
            return (self.module,)
        path = self._path(self.module)
        if not os.path.isfile(path):
            raise PlanError(f"swap {self.old}: there is no file {self.module}")
        return (*module_names(path), "__main__")

    def replaces(self, point: Point, activation: Activation) -> bool:
        """Return whether a woven definition is the old function."""
        if point.qualname != self.qualname or point.called != point.qualname:
            return False
        if self.module.endswith(".py"):
            return os.path.realpath(point.file) == os.path.realpath(self._path(self.module))
        return self.module in (point.module, *activation.planner.aliases.get(point.module, ()))

    def is_replacement(self, point: Point) -> bool:
        """Return whether a woven definition is the replacement."""
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
        """Return the replacement. Its module is imported with the first call.

        Raises:
            PlanError: it doesn't exist. Any exception of its module is raised, too.
        """
        if self._function is None:
            if callable(self.new):
                self._function = self.new
            else:
                assert self.target is not None  # noqa: S101 - set if `new` is a name
                # If the candidate imports the script, it has to get the running one and no second copy.
                aliases = {name: sys.modules["__main__"] for name in self.main if name not in sys.modules}
                sys.modules.update(aliases)
                try:
                    self._function = self._find(*self.target)
                except PlanError as error:
                    self.fault = str(error)
                    raise
                except Exception as error:  # its module raised
                    self.fault = f"swap {self.old}={self.new}: {type(error).__name__}: {error}"
                    raise
                finally:
                    for name, module in aliases.items():
                        if sys.modules.get(name) is module:
                            del sys.modules[name]
        return self._function

    def look_up(self) -> None:
        """Find out now whether the replacement's module is loaded, right before `function` is called in several forks.

        Looking at a thousand modules copies a page for each of them in a fork.
        """
        if self._function is None and self.target is not None and self.target[0].endswith(".py"):
            self._is_known_missing = _loaded(os.path.realpath(self._path(self.target[0]))) is None

    def _find(self, module: str, qualname: str) -> Callable[..., Any]:
        owner: Any = self._module(module)
        for step in qualname.split("."):
            member = getattr(owner, step, None)
            if member is None:
                from autochron.rules.nearest import nearest  # lazy: difflib

                near = nearest([name for name in dir(owner) if not name.startswith("_")], step)
                hint = f"; the nearest is {near}" if near else ""
                raise PlanError(f"swap {self.old}={self.new}: {module} has no {qualname}{hint}")
            owner = member
        if not callable(owner):
            held = held_function(owner, qualname)
            if held is None:
                raise PlanError(f"swap {self.old}={self.new}: {qualname} {_no_function(owner)}")
            return held
        function: Callable[..., Any] = getattr(owner, "__func__", owner)
        return function

    def _module(self, module: str) -> Any:
        """Return a module by its name, or import it from its file."""
        if not module.endswith(".py"):
            from importlib import import_module  # lazy: needed with the first call of a candidate

            try:
                return import_module(module)
            except ModuleNotFoundError as error:
                raise PlanError(f"swap {self.old}={self.new}: {error}") from None
        path = os.path.realpath(self._path(module))
        is_known_missing, self._is_known_missing = self._is_known_missing, False
        loaded = None if is_known_missing else _loaded(path)
        if loaded is not None:
            return loaded
        import importlib.util  # lazy: as above

        names = module_names(path)
        dotted, name = names[0], names[-1]
        if "." in dotted:  # a module of a package may import from it
            try:
                spec_in_package = importlib.util.find_spec(dotted)
            except ImportError:  # another package of that name is found first
                spec_in_package = None
            if spec_in_package is not None and os.path.realpath(spec_in_package.origin or "") == path:
                return importlib.import_module(dotted)

        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - an existing `.py` file has both
        new_module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(name, new_module)
        try:
            spec.loader.exec_module(new_module)
        except BaseException:
            # As an import does. Otherwise the next call would find a half-initialized module.
            if sys.modules.get(name) is new_module:
                del sys.modules[name]
            raise
        return new_module

    def install(self) -> None:
        """Replace the old function in its module for good.

        Raises:
            PlanError: the replacement or the file of the old function doesn't exist.
        """
        new = self.function()  # first, since its module may import the old function
        owner: Any = self._module(self.module)
        *path, name = self.qualname.split(".")
        for step in path:
            owner = getattr(owner, step)
        setattr(owner, name, new)

    def never_called(self) -> str:
        """Return a message that the replacement was never called."""
        return self.fault or (
            f"{self.old} was to be swapped and was never called; name it as the trace does (`autochron traces show`) or as"
            " module:name, and see that what calls it is live"
        )


def _no_function(value: Any) -> str:
    """Return a predicate that says what an object is that can't be called, and the remedy."""
    return f"is not callable, but a {type(value).__name__}; name the plain function, without the decorator"


_names_by_file: dict[str, str] = {}
"""The names of loaded modules, by the files by which they were found."""


def _loaded(path: str) -> Any:
    """Return the module of a file if it is loaded; None otherwise."""
    loaded = sys.modules.get(_names_by_file.get(path, ""))
    if loaded is not None and os.path.realpath(getattr(loaded, "__file__", None) or "") == path:
        return loaded
    base = os.path.basename(path)
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        # Compare base names first: resolving the paths of a thousand modules takes longer than most replays.
        if file and os.path.basename(file) == base and os.path.realpath(file) == path:
            # Remember it, since looking at a thousand modules copies a page for each of them in a fork.
            _names_by_file[path] = name
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
    """Return the swaps of some pairs of names.

    Args:
        wanted: the replacements, by the functions that they replace.
        rules: the rules, whose root files are relative to.

    Raises:
        PlanError: something can't be swapped.
    """
    pairs = list(wanted.items()) if isinstance(wanted, Mapping) else wanted
    swaps: dict[str, Swap] = {}
    for pair in pairs:
        values: Sequence[Any] = pair  # a caller may have passed anything
        if len(values) != 2 or not isinstance(values[0], str):
            raise PlanError(f"swap={wanted!r}: give what to swap as {{'module:name': 'module:name'}}")
        old, new = pair
        if not (isinstance(new, str) or callable(new)):
            held = held_function(new, _split(old)[1])
            if held is None:
                raise PlanError(f"swap {old}: {new!r} {_no_function(new)}, or give its module:name")
            new = held
        if old in swaps:
            raise PlanError(f"swap {old}: it is swapped twice, for {swaps[old].new} and {new}")
        swaps[old] = Swap(old, new, rules.root or os.getcwd())
    return tuple(swaps.values())


def read_swaps(path: str, rules: Rules) -> tuple[Swap, ...]:
    """Return the swaps of the replay that this process takes part in, from the file at `path`."""
    if not os.path.exists(path):
        return ()
    with open(path, "rb") as file:
        pairs = decode(file.read())
    return swaps_for({old: _unnamed(old) if new is None else new for old, new in pairs}, rules)


def _unnamed(old: str) -> Callable[..., Any]:
    """Return a function that raises PlanError, for a replacement that was a callable of another process."""

    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise PlanError(f"swap {old}: in another process the new function must be named as module:name")

    return refuse


def with_swaps(rules: Rules, swaps: tuple[Swap, ...]) -> Rules:
    """Return rules that weave the functions which are replaced, whether they are boundaries or not."""
    if not swaps:
        return rules
    targets = [Target(name, swap.qualname) for swap in swaps for name in swap.names()]
    return structs.replace(
        rules,
        swaps=tuple(SwapRule(target, _PLACE) for target in targets),
        digest="+".join((rules.digest, *map(str, targets))),
    )


class Swapping:
    """The handler of woven code if functions are swapped. It passes all other calls to the kernel."""

    def __init__(self, inner: Kernel | Kernels, swaps: tuple[Swap, ...], activation: Activation) -> None:
        self._inner = inner
        self._swaps = swaps
        self._activation = activation
        self._known: dict[Point, Swap | None] = {}
        self.current = inner.current
        for swap in swaps:
            swap.main = activation.planner.aliases.get("__main__", ())

    def enter(self, point: Point, arguments: tuple[Any, ...]) -> Any:
        """Begin a crossing. If the old function is live or no boundary, have the replacement called in it."""
        swap = self._known.get(point, self)
        if swap is self:
            swap = self._known[point] = next(
                (registered for registered in self._swaps if registered.replaces(point, self._activation)),
                None,
            )
        if swap is None:
            if any(registered.is_replacement(point) for registered in self._swaps):
                return None  # the crossing of the old function is open already
            return self._inner.enter(point, arguments)
        assert isinstance(swap, Swap)  # noqa: S101 - `self` was only the default of `get`
        if swap.old in INSIDE.get():
            if swap.reached:
                swap.reached[-1] += 1
            return None
        token = self._inner.enter(point, arguments)
        if token is None or type(token) in (Crossing, SuspendableToken):
            return Swapped(swap, token, point, arguments)
        return token
