"""What a bound call site does when it runs.

The code of a bound site calls `Site.bind` on the callee right after it was pushed. While nothing is recorded or replayed, or
where the callee turns out not to be what the rule means, that gives the callee itself, and the call goes on as it would.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from autochron.weaving.gate import GATE, Point
from autochron.weaving.wrapping import crossing_call, point_for

_KEPT = 256
"""Callees of one site whose points are kept."""


class Meant:
    """One rule for a call site: what it wants the callee to be, and where the values of its metavariables come from.

    Attributes:
        rule: opaque to weaving but for its `id`.
        check: dotted name of what the callee must be; None where the source tells.
        constants: metavariables whose value stands in the source.
        saved: those whose value is handed to `bind_saved`, each with its place there.
        arguments: those that are arguments: by place or keyword.
    """

    __slots__ = ("_found", "_until", "arguments", "check", "constants", "rule", "saved", "strangers")

    def __init__(
        self,
        rule: Any,
        check: str | None = None,
        constants: tuple[tuple[str, str | int], ...] = (),
        saved: tuple[tuple[str, int], ...] = (),
        arguments: tuple[tuple[str, int | str], ...] = (),
    ) -> None:
        self.rule = rule
        self.check = check
        self.constants = constants
        self.saved = saved
        self.arguments = arguments
        self.strangers: set[type] = set()
        """Types whose methods were looked at and are not meant."""
        self._found: list[tuple[Any, type | None]] = []
        self._until: int | None = _ASK
        """How many modules there are for as long as no more will be found; None for ever."""

    def fits(self, callee: Any) -> bool:
        """Tell whether a callee is what the rule names, or a method that overrides it."""
        if self.check is None:
            return True
        if self._until is not None and self._until != len(sys.modules):
            self._found, self._until = _look_up(self.check)
        found = self._found
        for wanted, _ in found:
            if callee is wanted:
                return True
        is_method = type(callee) is MethodType
        for wanted, owner in found:
            if is_method and callee.__func__ is wanted:
                return True
            if owner is not None and isinstance(getattr(callee, "__self__", None), owner):
                return getattr(callee, "__name__", None) == self.check.rpartition(".")[2]
        if is_method and found and not isinstance(callee.__self__, type):
            # Not a class: its own type is also that of other classes.
            if len(self.strangers) >= _KEPT:
                self.strangers.clear()
            self.strangers.add(type(callee.__self__))
        return False

    def is_known(self) -> bool:
        """Tell whether there is what the rule names, so that a callee may turn out to be it."""
        return self.check is None or bool(self._found or _look_up(self.check)[0])

    def captured(
        self, values: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """Give the values of the metavariables in one call."""
        found: dict[str, Any] = dict(self.constants)
        for name, index in self.saved:
            found[name] = values[index]
        for name, at in self.arguments:
            found[name] = args[at] if isinstance(at, int) else kwargs[at]
        return found


_ASK = -1
"""No number of modules: to be looked up again."""


def _look_up(dotted: str) -> tuple[list[tuple[Any, type | None]], int | None]:
    """Find what a dotted name is and the class that holds it, once its module is imported; twice, where it also runs.

    Gives for how many modules that is all, too.
    """
    parts = dotted.split(".")
    for count in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:count])
        imported, main = sys.modules.get(name), _program(name)
        if imported is not None or main is not None:
            known = [_walk(module, parts[count:]) for module in (imported, main) if module is not None]
            found = [each for each in known if each[0] is not _NOTHING]
            if len(found) < len(known):  # still to be defined, it may be
                return found, _ASK if known[0][0] is _NOTHING else None
            return found, None if imported is not None else len(sys.modules)
    return [], _ASK


def _walk(module: Any, path: list[str]) -> tuple[Any, type | None]:
    owner: Any = None
    value: Any = module
    for part in path:
        owner, value = value, _held(value, part)
    return value, owner if isinstance(owner, type) else None


def _program(name: str) -> Any:
    """Give the module that runs as the program, where a module of that name would be the same file."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return main if spec.name == name else None
    file = getattr(main, "__file__", None) or ""
    return main if os.path.splitext(os.path.basename(file))[0] == name else None


_NOTHING: Any = object()


def _held(owner: Any, name: str) -> Any:
    """Give what a module or class holds, without running code of the program's; a method as its function."""
    value = vars(owner).get(name, _NOTHING) if hasattr(owner, "__dict__") else _NOTHING
    if value is _NOTHING and isinstance(owner, type):
        value = next((vars(base)[name] for base in owner.__mro__ if name in vars(base)), _NOTHING)
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value


class Site:
    """One call site.

    Attributes:
        module: of the code that it stands in.
        label: names it in traces and reports: `Agent.act → TOOLS[$tool](...)`.
        file, line: where it stands.
        meant: the rules for it, in order of precedence.
    """

    __slots__ = ("_certain", "_points", "_strangers", "file", "label", "line", "meant", "module")

    def __init__(
        self, module: str, label: str, *, file: str = "", line: int = 0, meant: tuple[Meant, ...] = ()
    ) -> None:
        self.module = module
        self.label = label
        self.file = file
        self.line = line
        self.meant = meant
        self._certain = all(each.check is None for each in meant)
        # Where one rule only is to be asked; else a stranger to one may be what another means.
        self._strangers: set[type] = meant[0].strangers if len(meant) == 1 else set()
        self._points: dict[Any, tuple[Any, Point]] = {}

    def bind(self, callee: Any) -> Any:
        """Give what is called instead of the callee."""
        if GATE[0] is None:
            return callee
        meant = self.meant
        if not self._certain:
            if type(callee) is MethodType and type(callee.__self__) in self._strangers:
                return callee  # 60 ns
            meant = tuple([each for each in meant if each.fits(callee)])
        return partial(_cross, self, meant, callee, ()) if meant else callee

    def bind_saved(self, values: tuple[Any, ...]) -> Any:
        """Do so with what was saved on the way to the callee, which comes last."""
        bound = self.bind(values[-1])
        if type(bound) is partial and bound.func is _cross:
            return partial(_cross, self, bound.args[1], values[-1], values)
        return bound

    def packed(self, number: Callable[[Any], int]) -> tuple[Any, ...]:
        """Describe it as plain data; `number` numbers rules."""
        meant = [
            (number(each.rule), each.check, each.constants, each.saved, each.arguments) for each in self.meant
        ]
        return (self.module, self.label, self.file, self.line, tuple(meant))

    @staticmethod
    def unpacked(plain: tuple[Any, ...], rules: Sequence[Any]) -> Site:
        """Make it of that."""
        module, label, file, line, meant = plain
        return Site(
            module,
            label,
            file=file,
            line=line,
            meant=tuple([Meant(rules[each[0]], *each[1:]) for each in meant]),
        )

    def __reduce__(self) -> tuple[Callable[..., Site], tuple[Any, ...]]:
        # In another process the rules are that process's own; without them the site crosses nothing.
        return (Site, (self.module, self.label))

    def __repr__(self) -> str:
        return f"<bound {self.module}:{self.label}>"

    def point(self, meant: tuple[Meant, ...], callee: Any, captured: dict[str, dict[str, Any]]) -> Point:
        """Describe a call of this callee for the handler; kept for the next one."""
        function = callee.__func__ if type(callee) is MethodType else callee
        key: Any = None
        if isinstance(function, FunctionType | type):
            values = [value for each in captured.values() for value in each.values()]
            try:
                key = (id(function), type(callee) is MethodType, meant, *values)
                known = self._points.get(key)
            except TypeError:  # a value that can't be hashed
                key = None
            else:
                if known is not None:
                    return known[1]
        point = point_for(callee, self.module, self.label, tuple([each.rule for each in meant]))
        point.file, point.line, point.captured = self.file, self.line, captured
        point.called = _name_of(callee)
        if key is not None:
            if len(self._points) >= _KEPT:
                self._points.clear()
            self._points[key] = (function, point)  # the function too, so that its id stays its own
        return point


def _name_of(callee: Any) -> str:
    """Give the qualified name of a callable, or of its type."""
    name = getattr(callee, "__qualname__", None) or getattr(
        getattr(callee, "func", None), "__qualname__", None
    )
    return name if isinstance(name, str) else type(callee).__qualname__


def _cross(
    site: Site, meant: tuple[Meant, ...], callee: Any, values: tuple[Any, ...], /, *args: Any, **kwargs: Any
) -> Any:
    """Make the call that a bound site makes, through the gate."""
    captured = {each.rule.id: each.captured(values, args, kwargs) for each in meant}
    return crossing_call(site.point(meant, callee, captured), callee, args, kwargs)
