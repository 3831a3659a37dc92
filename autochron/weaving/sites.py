"""Bound call sites at run time.

The code of a bound site calls `CodeSite.bind` with the callee right after it was pushed. The result is the callee itself, so
that the call runs as it would unbound, if nothing is recorded or replayed or if the callee is not what the rule names.
Otherwise the result is a `BoundCall`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ref

from autochron._runtime.class_table import lasts
from autochron._runtime.own_frames import drop_frame, unchanged
from autochron._runtime.unpatched import os
from autochron.errors import RuleError
from autochron.rules.names import Field, NameFacts, name_template
from autochron.weaving.gate import GATE, Point
from autochron.weaving.wrapping import bound, point_for

_KEPT = 256
"""Most points that one site keeps, and most receiver types that one rule keeps as rejected."""


class SiteRule:
    """One rule at a call site: what the callee must be, and where the values of metavariables come from.

    Attributes:
        rule: the boundary rule; opaque to weaving except for its `id` and `name`.
        check: dotted name of what the callee must be; None if the source already decides it.
        constants: metavariables whose value is in the source, with that value.
        saved: metavariables whose value is passed to `bind_saved`, with its index there.
        arguments: metavariables that are arguments, with their position or keyword.
        fields: the fields of the crossing's name that need a metavariable.
        rejected_types: types of receivers whose methods are known not to be the rule's.
    """

    __slots__ = (
        "_last",
        "_referents",
        "arguments",
        "check",
        "constants",
        "fields",
        "rejected_types",
        "rule",
        "saved",
    )

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
        self.rejected_types: set[type] = set()
        self._referents: list[_Referent] = []
        self._last = "" if check is None else check.rpartition(".")[2]
        names = {name for name, _ in (*constants, *saved, *arguments)}
        parts = name_template(rule.name).parts
        self.fields = tuple(part for part in parts if isinstance(part, Field) and part.root in names)

    def fits(self, callee: Any, receiver: Any) -> bool:
        """Return whether a callee is what the rule names, or overrides it. No code of the program runs.

        Args:
            callee: what the site calls.
            receiver: the object that the callee was read from as an attribute; None if it was not.
        """
        if self.check is None:
            return True
        for referent in self._referents:
            if self._is_same(referent, callee, receiver):
                return True
        self._referents = _look_up(self.check)  # a module may have been imported or reloaded since
        if not self._referents:
            return False
        for referent in self._referents:
            if self._is_same(referent, callee, receiver):
                return True
        if type(callee) is MethodType and callee.__self__ is receiver and not _is_class(receiver):
            if len(self.rejected_types) >= _KEPT:
                self.rejected_types.clear()
            try:
                if lasts(type(receiver)):
                    self.rejected_types.add(type(receiver))
            except Exception:  # noqa: S110 - a metaclass whose classes can't be hashed
                pass
        return False

    def _is_same(self, referent: _Referent, callee: Any, receiver: Any) -> bool:
        wanted, owner, instance = referent
        if callee is wanted:
            return True
        bound_object = callee.__self__ if type(callee) in (MethodType, BuiltinFunctionType) else None
        if instance is not None:
            return receiver is instance or bound_object is instance
        if type(callee) is MethodType and callee.__func__ is wanted:
            return True
        if owner is None:
            return False
        # A callee that was read as an attribute has the right name already. One from a variable may be any method.
        if receiver is not None and _is_of(receiver, owner):
            return True
        function = callee.__func__ if type(callee) is MethodType else callee
        is_named = bound_object is not None and _is_of(bound_object, owner)
        return is_named and getattr(function, "__name__", None) == self._last

    def is_known(self) -> bool:
        """Return whether the object that the rule names exists, so that a callee may be it."""
        return self.check is None or bool(self._referents or _look_up(self.check))

    def captured(
        self, values: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any], called: NameFacts
    ) -> dict[str, str | RuleError]:
        """Return the values of the crossing name's fields that need metavariables, for one call.

        They are text, so that no object of the program is kept alive. A value that can't be part of a name is a RuleError.

        Args:
            values: what was saved on the way to the callee.
            args: positional arguments of the call.
            kwargs: keyword arguments of the call.
            called: facts about the callee.
        """
        bound: dict[str, Any] = dict(self.constants)
        for name, index in self.saved:
            bound[name] = values[index]
        for name, position in self.arguments:
            bound[name] = args[position] if isinstance(position, int) else kwargs[position]
        texts: dict[str, str | RuleError] = {}
        template = name_template(self.rule.name)
        for field in self.fields:
            try:
                texts[field.text] = template.value(field, bound, called)
            except RuleError as error:
                texts[field.text] = error.with_traceback(None)
        return texts


_Referent = tuple[Any, type | None, Any]
"""The object that a dotted name refers to; the class that has it, or None; the instance whose class has it, or None."""

_NOTHING: Any = object()


def _look_up(dotted: str) -> list[_Referent]:
    """Return what a dotted name refers to, if its module is imported; two objects if the module also runs as the program."""
    parts = dotted.split(".")
    for count in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:count])
        modules = [module for module in (sys.modules.get(name), _main_module(name)) if module is not None]
        if modules:
            return [referent for module in modules if (referent := _walk(module, parts[count:])) is not None]
    return []


def _walk(module: Any, path: list[str]) -> _Referent | None:
    owner: Any = None
    value: Any = module
    is_of_class = False
    for part in path:
        owner, (value, is_of_class) = value, _read_attribute(value, part)
    if value is _NOTHING:
        return None
    if isinstance(owner, type):
        return value, owner, None
    return value, None, owner if is_of_class else None


def _main_module(name: str) -> Any:
    """Return `__main__` if a module of that name would be the same file; else None."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return main if spec.name in {name, f"{name}.__main__"} else None
    file = getattr(main, "__file__", None) or ""
    return main if os.path.splitext(os.path.basename(file))[0] == name else None


def _read_attribute(owner: Any, name: str) -> tuple[Any, bool]:
    """Return an attribute of a module, class or object, and whether it is an attribute of an object's class.

    A static or class method is returned as its function. No code of the program runs.
    """
    is_class = isinstance(owner, type)
    try:
        namespace = vars(owner) if is_class else object.__getattribute__(owner, "__dict__")
    except AttributeError:
        namespace = {}
    value = namespace.get(name, _NOTHING)
    is_of_class = False
    if value is _NOTHING and not isinstance(owner, ModuleType):
        bases = (owner if is_class else type(owner)).__mro__
        value = next((vars(base)[name] for base in bases if name in vars(base)), _NOTHING)
        is_of_class = not is_class
    return (value.__func__ if isinstance(value, staticmethod | classmethod) else value), is_of_class


def _is_class(value: Any) -> bool:
    return any(base is type for base in type(value).__mro__)


def _is_of(value: Any, owner: type) -> bool:
    """Return what `isinstance` and `issubclass` return, without running code of the object or of a metaclass."""
    bases = type.__dict__["__mro__"].__get__(value) if _is_class(value) else type(value).__mro__
    return any(base is owner for base in bases)


class CodeSite:
    """One bound call site.

    Attributes:
        module: name of its module.
        label: its name in traces and reports: `Agent.act → TOOLS[$tool](...)`.
        file: its file.
        line: its line.
        rules: the rules for it, in order of precedence.
        receiver: index of the callee's receiver among the saved values; -1 if it is not saved.
    """

    __slots__ = (
        "_certain",
        "_points",
        "_rejected_types",
        "file",
        "label",
        "line",
        "module",
        "receiver",
        "rules",
    )

    def __init__(
        self,
        module: str,
        label: str,
        *,
        file: str = "",
        line: int = 0,
        rules: tuple[SiteRule, ...] = (),
        receiver: int = -1,
    ) -> None:
        self.module = module
        self.label = label
        self.file = file
        self.line = line
        self.rules = rules
        self.receiver = receiver
        self._certain = all(rule.check is None for rule in rules)
        # Only if there is one rule: a type that one rule rejects may be what another one names.
        self._rejected_types: set[type] = rules[0].rejected_types if len(rules) == 1 else set()
        self._points: dict[Any, tuple[ref[Any], Point]] = {}

    def bind(self, callee: Any) -> Any:
        """Return what the site calls in place of the callee."""
        if GATE[0] is None:
            return callee
        return self._bound(callee, None, ())

    def bind_saved(self, values: tuple[Any, ...]) -> Any:
        """Return what the site calls in place of the callee, which is the last of the values; the others were saved."""
        if GATE[0] is None:
            return values[-1]
        return self._bound(values[-1], values[self.receiver] if self.receiver >= 0 else None, values)

    def bind_received(self, values: tuple[Any, Any]) -> Any:
        """Return what the site calls in place of the callee; `values` are the receiver and the callee.

        For sites where the receiver's type decides: in most calls it is none that the rule names.
        """
        receiver, callee = values
        try:
            if type(receiver) in self._rejected_types:
                return callee
        except Exception:  # noqa: S110 - a metaclass whose classes can't be hashed
            pass
        return callee if GATE[0] is None else self._bound(callee, receiver, values)

    def _bound(self, callee: Any, receiver: Any, values: tuple[Any, ...]) -> Any:
        rules = self.rules
        if not self._certain:
            rules = tuple([rule for rule in rules if rule.fits(callee, receiver)])
        return BoundCall(self, rules, callee, values) if rules else callee

    def packed(self, number: Callable[[Any], int]) -> tuple[Any, ...]:
        """Return the site as plain data for the code cache; `number` returns the number of a rule."""
        rules = [
            (number(rule.rule), rule.check, rule.constants, rule.saved, rule.arguments) for rule in self.rules
        ]
        return (self.module, self.label, self.file, self.line, tuple(rules), self.receiver)

    @staticmethod
    def unpacked(plain: tuple[Any, ...], rules: Sequence[Any]) -> CodeSite:
        """Return a site from plain data; `rules` are the rules by number."""
        module, label, file, line, packed_rules, receiver = plain
        site_rules = tuple([SiteRule(rules[packed[0]], *packed[1:]) for packed in packed_rules])
        return CodeSite(module, label, file=file, line=line, rules=site_rules, receiver=receiver)

    def __reduce__(self) -> tuple[Callable[..., CodeSite], tuple[Any, ...]]:
        # In another process the rules are that process's own; without them the site crosses nothing.
        return (CodeSite, (self.module, self.label))

    def __repr__(self) -> str:
        return f"<bound {self.module}:{self.label}>"

    def point(
        self, rules: tuple[SiteRule, ...], callee: Any, captured: dict[str, dict[str, str | RuleError]]
    ) -> Point:
        """Return the point of a call, which is kept for later calls of the same callee.

        Args:
            rules: the rules that fit the callee.
            callee: what is called.
            captured: by rule id, the values of the name's fields that need metavariables.
        """
        function = callee.__func__ if type(callee) is MethodType else callee
        key: Any = None
        if type(function) is FunctionType:
            values = [value for texts in captured.values() for value in texts.values()]
            if all(type(value) is str for value in values):
                key = (id(function), type(callee) is MethodType, rules, *values)
                kept = self._points.get(key)
                if kept is not None and kept[0]() is function:
                    return kept[1]
        point = point_for(
            _with_signature(callee), self.module, self.label, tuple([rule.rule for rule in rules])
        )
        if _receiver_of(callee) is not _NOTHING and "self" not in point.parameters:
            point.parameters = ("self", *point.parameters)
        point.file, point.line, point.captured = self.file, self.line, captured
        point.called = _name_of(callee)
        if key is not None:
            if len(self._points) >= _KEPT:
                self._points.clear()
            self._points[key] = (ref(function), point)  # the id alone may be reused
        return point


def _with_signature(callee: Any) -> Any:
    """Return an object whose signature is the callee's and can be read without running code of the program; else None."""
    if isinstance(callee, FunctionType | MethodType | BuiltinFunctionType | type | partial):
        return callee
    call = next((vars(base)["__call__"] for base in type(callee).__mro__ if "__call__" in vars(base)), None)
    return MethodType(call, callee) if type(call) is FunctionType else None


def _receiver_of(callee: Any) -> Any:
    """Return the object that a callee is a method of, whose changes are recorded as an argument's are; else `_NOTHING`."""
    if type(callee) in (MethodType, BuiltinFunctionType):
        receiver = callee.__self__
        if receiver is not None and not isinstance(receiver, ModuleType) and not _is_class(receiver):
            return receiver
    return _NOTHING


def _name_of(callee: Any) -> str:
    """Return the qualified name of a callable, or of its type."""
    while type(callee) is partial:
        callee = callee.func
    return str(callee.__qualname__) if _is_definition(callee) else type(callee).__qualname__


def _is_definition(callee: Any) -> bool:
    return type(callee) in (FunctionType, MethodType, BuiltinFunctionType) or _is_class(callee)


class BoundCall:
    """A callable that stands in for a callee and calls it through the gate."""

    __slots__ = ("_callee", "_rules", "_site", "_values")

    def __init__(
        self, site: CodeSite, rules: tuple[SiteRule, ...], callee: Any, values: tuple[Any, ...]
    ) -> None:
        self._site = site
        self._rules = rules
        self._callee = callee
        self._values = values

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        # `crossing_call` inlined, so that there is only one frame between caller and callee.
        callee, enter = self._callee, GATE[0]
        if enter is None:
            token = None
        else:
            point, arguments = bound(self._point(args, kwargs), args, kwargs)
            if len(arguments) < len(point.parameters):
                arguments = (_receiver_of(callee), *arguments)
            token = enter(point, arguments)
            if token is not None and not token:
                error, value = token.outcome()
                if error is None:
                    return value
                with unchanged(error):
                    raise error
        try:
            value = callee(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            if token is not None:
                token.raised(error)
            raise
        return value if token is None else token.returned(value)

    def _point(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Point:
        site, rules, callee = self._site, self._rules, self._callee
        captured = {}
        for rule in rules:
            if rule.fields:
                called = NameFacts(name="", qualname=_name_of(callee), module=site.module)
                captured[rule.rule.id] = rule.captured(self._values, args, kwargs, called)
        return site.point(rules, callee, captured)

    def __getattr__(self, name: str) -> Any:
        # Python's error messages name the callee by its `__qualname__` and its `__module__`.
        if name == "__qualname__":
            return _name_of(self._callee)
        raise AttributeError(name)

    @property
    def __module__(self) -> Any:  # type: ignore[override]
        """Return the callee's module name."""
        callee = self._callee
        return callee.__module__ if _is_definition(callee) else type(callee).__module__
