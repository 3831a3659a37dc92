"""What a bound call site does when it runs.

The code of a bound site calls `Site.bind` on the callee right after it was pushed. While nothing is recorded or replayed, or
where the callee turns out not to be what the rule means, that gives the callee itself, and the call goes on as it would.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ref

from autochron._runtime.class_table import lasts
from autochron._runtime.unpatched import os
from autochron.errors import RuleError
from autochron.rules.names import Field, NameFacts, name_template
from autochron.weaving.gate import GATE, Point
from autochron.weaving.wrapping import bound_arguments, point_for

_KEPT = 256
"""Callees of one site whose points are kept, and types of receivers that are known to be none of a rule's."""


class Meant:
    """One rule for a call site: what it wants the callee to be, and where the values of its metavariables come from.

    Attributes:
        rule: opaque to weaving but for its `id` and `name`.
        check: dotted name of what the callee must be; None where the source tells.
        constants: metavariables whose value stands in the source.
        saved: those whose value is handed to `bind_saved`, each with its place there.
        arguments: those that are arguments: by place or keyword.
        fields: the fields of the name that need a metavariable.
        strangers: types of receivers that were looked at, and whose methods are not meant.
    """

    __slots__ = ("_found", "_last", "arguments", "check", "constants", "fields", "rule", "saved", "strangers")

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
        self._found: list[_Named] = []
        self._last = "" if check is None else check.rpartition(".")[2]
        names = {name for name, _ in (*constants, *saved, *arguments)}
        parts = name_template(rule.name).parts
        self.fields = tuple(part for part in parts if isinstance(part, Field) and part.root in names)

    def fits(self, callee: Any, receiver: Any) -> bool:
        """Return whether a callee is what the rule names, or what overrides it; `receiver` is what it was read of.

        Nothing of the program's own is called for that.
        """
        if self.check is None:
            return True
        for found in self._found:
            if self._is(found, callee, receiver):
                return True
        self._found = _look_up(self.check)  # again: a module may have been imported since, or loaded anew
        if not self._found:
            return False
        for found in self._found:
            if self._is(found, callee, receiver):
                return True
        if type(callee) is MethodType and callee.__self__ is receiver and not _is_class(receiver):
            if len(self.strangers) >= _KEPT:
                self.strangers.clear()
            try:
                if lasts(type(receiver)):
                    self.strangers.add(type(receiver))
            except Exception:  # noqa: S110 - a metaclass whose classes can't be hashed
                pass
        return False

    def _is(self, found: _Named, callee: Any, receiver: Any) -> bool:
        wanted, owner, instance = found
        if callee is wanted:
            return True
        own = callee.__self__ if type(callee) in (MethodType, BuiltinFunctionType) else None
        if instance is not None:
            return receiver is instance or own is instance
        if type(callee) is MethodType and callee.__func__ is wanted:
            return True
        if owner is None:
            return False
        # What was read as an attribute has the name; what is in a variable may be any method.
        if receiver is not None and _is_of(receiver, owner):
            return True
        function = callee.__func__ if type(callee) is MethodType else callee
        is_named = own is not None and _is_of(own, owner)
        return is_named and getattr(function, "__name__", None) == self._last

    def is_known(self) -> bool:
        """Return whether there is what the rule names, so that a callee may turn out to be it."""
        return self.check is None or bool(self._found or _look_up(self.check))

    def captured(
        self, values: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any], called: NameFacts
    ) -> dict[str, str | RuleError]:
        """Return what the name needs of the metavariables in one call, as text: nothing of the program's is held on to."""
        known: dict[str, Any] = dict(self.constants)
        for name, index in self.saved:
            known[name] = values[index]
        for name, at in self.arguments:
            known[name] = args[at] if isinstance(at, int) else kwargs[at]
        found: dict[str, str | RuleError] = {}
        template = name_template(self.rule.name)
        for field in self.fields:
            try:
                found[field.text] = template.value(field, known, called)
            except RuleError as error:
                found[field.text] = error.with_traceback(None)
        return found


_Named = tuple[Any, type | None, Any]
"""What a dotted name is; and the class that holds it, or the object of whose class it is."""

_NOTHING: Any = object()


def _look_up(dotted: str) -> list[_Named]:
    """Find what a dotted name is, once its module is imported; twice, where that also runs as the program."""
    parts = dotted.split(".")
    for count in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:count])
        modules = [module for module in (sys.modules.get(name), _program(name)) if module is not None]
        if modules:
            return [found for module in modules if (found := _walk(module, parts[count:])) is not None]
    return []


def _walk(module: Any, path: list[str]) -> _Named | None:
    owner: Any = None
    value: Any = module
    of_class = False
    for part in path:
        owner, (value, of_class) = value, _held(value, part)
    if value is _NOTHING:
        return None
    if isinstance(owner, type):
        return value, owner, None
    return value, None, owner if of_class else None


def _program(name: str) -> Any:
    """Return the module that runs as the program, where a module of that name would be the same file."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return main if spec.name in {name, f"{name}.__main__"} else None
    file = getattr(main, "__file__", None) or ""
    return main if os.path.splitext(os.path.basename(file))[0] == name else None


def _held(owner: Any, name: str) -> tuple[Any, bool]:
    """Return what a module, class or object holds, a method as its function, and whether an object's class has it.

    Without running code of the program's.
    """
    is_class = isinstance(owner, type)
    try:
        space = vars(owner) if is_class else object.__getattribute__(owner, "__dict__")
    except AttributeError:
        space = {}
    value = space.get(name, _NOTHING)
    of_class = False
    if value is _NOTHING and not isinstance(owner, ModuleType):
        bases = (owner if is_class else type(owner)).__mro__
        value = next((vars(base)[name] for base in bases if name in vars(base)), _NOTHING)
        of_class = not is_class
    return (value.__func__ if isinstance(value, staticmethod | classmethod) else value), of_class


def _is_class(value: Any) -> bool:
    return any(base is type for base in type(value).__mro__)


def _is_of(value: Any, owner: type) -> bool:
    """Do as `isinstance` and `issubclass` do, but ask neither the object nor a metaclass."""
    bases = type.__dict__["__mro__"].__get__(value) if _is_class(value) else type(value).__mro__
    return any(base is owner for base in bases)


class CodeSite:
    """One call site.

    Attributes:
        module: of the code that it stands in.
        label: names it in traces and reports: `Agent.act → TOOLS[$tool](...)`.
        file, line: where it stands.
        meant: the rules for it, in order of precedence.
        receiver: where among the saved values that is whose attribute the callee was read as; -1 where it isn't.
    """

    __slots__ = ("_certain", "_points", "_strangers", "file", "label", "line", "meant", "module", "receiver")

    def __init__(
        self,
        module: str,
        label: str,
        *,
        file: str = "",
        line: int = 0,
        meant: tuple[Meant, ...] = (),
        receiver: int = -1,
    ) -> None:
        self.module = module
        self.label = label
        self.file = file
        self.line = line
        self.meant = meant
        self.receiver = receiver
        self._certain = all(each.check is None for each in meant)
        # Where one rule only is to be asked; else a stranger to one may be what another means.
        self._strangers: set[type] = meant[0].strangers if len(meant) == 1 else set()
        self._points: dict[Any, tuple[ref[Any], Point]] = {}

    def bind(self, callee: Any) -> Any:
        """Return what is called instead of the callee."""
        if GATE[0] is None:
            return callee
        return self._bound(callee, None, ())

    def bind_saved(self, values: tuple[Any, ...]) -> Any:
        """Do so with what was saved on the way to the callee, which comes last."""
        if GATE[0] is None:
            return values[-1]
        return self._bound(values[-1], values[self.receiver] if self.receiver >= 0 else None, values)

    def bind_received(self, values: tuple[Any, Any]) -> Any:
        """Do so with the receiver and the callee, where the receiver decides: in most calls it is none of the rule's."""
        receiver, callee = values
        try:
            if type(receiver) in self._strangers:
                return callee
        except Exception:  # noqa: S110 - a metaclass whose classes can't be hashed
            pass
        return callee if GATE[0] is None else self._bound(callee, receiver, values)

    def _bound(self, callee: Any, receiver: Any, values: tuple[Any, ...]) -> Any:
        meant = self.meant
        if not self._certain:
            meant = tuple([each for each in meant if each.fits(callee, receiver)])
        return BoundCall(self, meant, callee, values) if meant else callee

    def packed(self, number: Callable[[Any], int]) -> tuple[Any, ...]:
        """Describe it as plain data; `number` numbers rules."""
        meant = [
            (number(each.rule), each.check, each.constants, each.saved, each.arguments) for each in self.meant
        ]
        return (self.module, self.label, self.file, self.line, tuple(meant), self.receiver)

    @staticmethod
    def unpacked(plain: tuple[Any, ...], rules: Sequence[Any]) -> CodeSite:
        """Make it of that."""
        module, label, file, line, meant, receiver = plain
        made = tuple([Meant(rules[each[0]], *each[1:]) for each in meant])
        return CodeSite(module, label, file=file, line=line, meant=made, receiver=receiver)

    def __reduce__(self) -> tuple[Callable[..., CodeSite], tuple[Any, ...]]:
        # In another process the rules are that process's own; without them the site crosses nothing.
        return (CodeSite, (self.module, self.label))

    def __repr__(self) -> str:
        return f"<bound {self.module}:{self.label}>"

    def point(
        self, meant: tuple[Meant, ...], callee: Any, captured: dict[str, dict[str, str | RuleError]]
    ) -> Point:
        """Describe a call of this callee for the handler; kept for the next one."""
        function = callee.__func__ if type(callee) is MethodType else callee
        key: Any = None
        if type(function) is FunctionType:
            values = [value for each in captured.values() for value in each.values()]
            if all(type(value) is str for value in values):
                key = (id(function), type(callee) is MethodType, meant, *values)
                known = self._points.get(key)
                if known is not None and known[0]() is function:
                    return known[1]
        point = point_for(_described(callee), self.module, self.label, tuple([each.rule for each in meant]))
        if _receiver_of(callee) is not _NOTHING and "self" not in point.parameters:
            point.parameters = ("self", *point.parameters)
        point.file, point.line, point.captured = self.file, self.line, captured
        point.called = _name_of(callee)
        if key is not None:
            if len(self._points) >= _KEPT:
                self._points.clear()
            self._points[key] = (ref(function), point)  # another one may get its id
        return point


def _described(callee: Any) -> Any:
    """Return what tells the parameters of a callee without running code of the program's; None where nothing does."""
    if isinstance(callee, FunctionType | MethodType | BuiltinFunctionType | type | partial):
        return callee
    call = next((vars(base)["__call__"] for base in type(callee).__mro__ if "__call__" in vars(base)), None)
    return MethodType(call, callee) if type(call) is FunctionType else None


def _receiver_of(callee: Any) -> Any:
    """Return the object that a callee is a method of: its changes are told like those of an argument."""
    if type(callee) in (MethodType, BuiltinFunctionType):
        own = callee.__self__
        if own is not None and not isinstance(own, ModuleType) and not _is_class(own):
            return own
    return _NOTHING


def _name_of(callee: Any) -> str:
    """Return the qualified name of a callable, or of its type."""
    while type(callee) is partial:
        callee = callee.func
    return str(callee.__qualname__) if _is_definition(callee) else type(callee).__qualname__


def _is_definition(callee: Any) -> bool:
    return type(callee) in (FunctionType, MethodType, BuiltinFunctionType) or _is_class(callee)


class BoundCall:
    """What is called instead of a callee: the call goes through the gate."""

    __slots__ = ("_callee", "_meant", "_site", "_values")

    def __init__(
        self, site: CodeSite, meant: tuple[Meant, ...], callee: Any, values: tuple[Any, ...]
    ) -> None:
        self._site = site
        self._meant = meant
        self._callee = callee
        self._values = values

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        # `crossing_call`, written out: one frame and no more stands between caller and callee.
        callee, enter = self._callee, GATE[0]
        if enter is None:
            return callee(*args, **kwargs)
        point = self._point(args, kwargs)
        given = bound_arguments(point, args, kwargs)
        if len(given) < len(point.parameters):
            given = (_receiver_of(callee), *given)
        token = enter(point, given)
        if token is None:
            return callee(*args, **kwargs)
        if not token:
            error, value = token.outcome()
            if error is not None:
                raise error
            return value
        try:
            value = callee(*args, **kwargs)
        except BaseException as error:
            token.raised(error)
            raise
        return token.returned(value)

    def _point(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Point:
        site, meant, callee = self._site, self._meant, self._callee
        captured = {}
        for each in meant:
            if each.fields:
                called = NameFacts(name="", qualname=_name_of(callee), module=site.module)
                captured[each.rule.id] = each.captured(self._values, args, kwargs, called)
        return site.point(meant, callee, captured)

    def __getattr__(self, name: str) -> Any:
        # By this and the module Python names in its messages what is called.
        if name == "__qualname__":
            return _name_of(self._callee)
        raise AttributeError(name)

    @property
    def __module__(self) -> Any:  # type: ignore[override]
        """Return that of what is called."""
        callee = self._callee
        return callee.__module__ if _is_definition(callee) else type(callee).__module__
