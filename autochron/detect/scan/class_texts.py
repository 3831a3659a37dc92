"""Find of what the text and the hash of an instance of a class of this module are made: of its address, or of its fields."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Literal

from autochron.detect.catalogue import COLLECTED
from autochron.detect.scan.abstract_values import (
    Container,
    Holding,
    Instance,
    Known,
    PartialCall,
    Plain,
    Produced,
    Routine,
    Set,
    Text,
    Type,
    Unknown,
    Value,
)
from autochron.detect.scan.annotations import is_callable
from autochron.detect.scan.flow import FlowScope, last_name
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.libraries import SHOWING_ADDRESSES

_PLAIN_BASES = frozenset(
    {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "sqlalchemy.orm.DeclarativeBase"}
)
_MAKING_DATA = frozenset({"dataclass", "define", "frozen", "attrs", "mutable"})
"""Decorators that make the text of an instance of the values of its fields."""
_DEPTH = 3
"""How deep the values in a container are looked at."""
_OF_TEXT = {"repr": ("__repr__", "__str__", "__format__"), "hash": ("__hash__", "__eq__")}
"""The methods by which a class says what its text, or its hash, is made of."""


class ClassTexts:
    """The texts and hashes of the instances of a module's classes."""

    def __init__(self, evaluation: Evaluation) -> None:
        """Take the values of the module."""
        self._evaluation = evaluation

    def shows_address(self, value: object, what: Literal["repr", "hash"] = "repr") -> bool:
        """Return whether the text of a value, or its hash, is made of its address."""
        if isinstance(value, Produced):
            return value.name in SHOWING_ADDRESSES or (
                value.name == "inspect.signature" and self.has_object_as_default
            )
        if isinstance(value, Routine | PartialCall) or (
            isinstance(value, Plain) and value.type == "iterator"
        ):
            return True
        if isinstance(value, Unknown) and is_callable(value):
            return True
        if not isinstance(value, Instance):
            return False
        if self._is_bare(value.scope, set(), what):
            return True
        return self._is_data(value.scope, "repr") and any(
            (isinstance(held, Instance) and self._is_bare(held.scope, set(), "repr"))
            or (isinstance(held, Produced) and held.name in SHOWING_ADDRESSES)
            or is_callable(held)
            for held in self.field_values(value.scope)
        )

    @cached_property
    def has_object_as_default(self) -> bool:
        """Whether a parameter in the module has a default whose text is made of its address."""
        return any(
            binding.kind == "parameter"
            and isinstance(binding.node, ast.expr)
            and any(map(self.shows_address, self._evaluation.values(binding.node, binding.spot)))
            for scope in self._evaluation.flow.scopes.values()
            for bindings in scope.bindings.values()
            for binding in bindings
        )

    def has_plain_bases(self, scope: FlowScope | None) -> bool:
        """Return whether a class has its text from `object`, but for what it says itself."""
        if scope is None or scope.kind != "class":
            return False
        return all(_is_plain(base) for base in self._evaluation.bases(scope))

    def holds_set(self, value: object) -> bool:
        """Return whether a value is an instance of a model that has a set of texts as a field, and no serializer for it."""
        return (
            isinstance(value, Instance)
            and not self.has_serializer(value.scope)
            and any(isinstance(held, Set) and not held.is_stable for held in self.field_values(value.scope))
        )

    def shows_set(self, value: object) -> bool:
        """Return whether the text of a value is made of a set of texts that it holds."""
        return (
            isinstance(value, Instance)
            and self._is_data(value.scope, "repr")
            and any(isinstance(held, Set) and not held.is_stable for held in self.field_values(value.scope))
        )

    def shows_address_within(self, value: Value, depth: int = _DEPTH) -> bool:
        """Return whether the text of a value has an address: its own, or that of something that it holds."""
        return self.shows_address(value) or any(
            self.shows_address_within(held, depth - 1) for held in self._held(value, depth)
        )

    def shows_set_within(self, value: Value, depth: int = _DEPTH) -> bool:
        """Return whether the text of a value has that of a set of texts which it holds."""
        return self.shows_set(value) or any(
            (isinstance(held, Set) and not held.is_stable and not held.is_empty)
            or self.shows_set_within(held, depth - 1)
            for held in self._held(value, depth)
        )

    def _held(self, value: Value, depth: int) -> tuple[Value, ...]:
        return self._evaluation.elements((value,)) if depth and isinstance(value, Container | Holding) else ()

    def hashes_text(self, value: object) -> bool:
        """Return whether a value is an instance of a class of data whose hash is made of a text."""
        return (
            isinstance(value, Instance)
            and self._is_data(value.scope, "hash")
            and any(isinstance(held, Text) for held in self.field_values(value.scope))
        )

    def _is_data(self, scope: FlowScope, what: Literal["repr", "hash"]) -> bool:
        """Return whether a decorator makes the text or the hash of a class of the values of its fields."""
        node = scope.node
        if not isinstance(node, ast.ClassDef) or f"__{what}__" in scope.bindings:
            return False
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
            if last_name(called) in _MAKING_DATA:
                options = {keyword.arg: getattr(keyword.value, "value", None) for keyword in keywords}
                is_frozen = options.get("frozen") is True or last_name(called) == "frozen"
                return is_frozen if what == "hash" else options.get("repr") is not False
        return False

    def field_values(self, scope: FlowScope) -> Iterator[Value]:
        """Yield the values that the annotations of a class allow for its fields."""
        for bindings in scope.bindings.values():
            for binding in bindings:
                if binding.annotation is not None and not _is_left_out(binding.node):
                    yield from self._evaluation.annotated(binding.annotation, binding.spot)

    @staticmethod
    def has_serializer(scope: FlowScope) -> bool:
        """Return whether a model writes some of its fields itself."""
        body = scope.node.body if isinstance(scope.node, ast.ClassDef) else []
        return any(
            last_name(decorator.func if isinstance(decorator, ast.Call) else decorator).endswith("serializer")
            for statement in body
            if isinstance(statement, ast.FunctionDef)
            for decorator in statement.decorator_list
        )

    def _is_bare(self, scope: FlowScope, seen: set[int], what: Literal["repr", "hash"]) -> bool:
        """Return whether a class has its text, or its hash, from `object`, so that it is made of the address."""
        node = scope.node
        assert isinstance(node, ast.ClassDef)  # noqa: S101 - a class's scope has its node
        decorators = {
            last_name(decorator) for decorator in node.decorator_list if not _leaves_text(decorator, what)
        }
        if decorators - {"total_ordering", "final"} or node.keywords or id(scope) in seen:
            return False
        if any(name in scope.bindings for name in _OF_TEXT[what]):
            return False
        seen.add(id(scope))
        return all(
            self._is_bare(base.scope, seen, what) if isinstance(base, Type) else _is_plain(base)
            for base in self._evaluation.bases(scope)
        )


def _leaves_text(decorator: ast.expr, what: str) -> bool:
    """Return whether a decorator that makes a class of data is told not to make its text: `@dataclass(repr=False)`."""
    return (
        what == "repr"
        and isinstance(decorator, ast.Call)
        and last_name(decorator.func) in (_MAKING_DATA | {"s"})
        and any(
            keyword.arg == "repr" and getattr(keyword.value, "value", None) is False
            for keyword in decorator.keywords
        )
    )


def _is_left_out(field: ast.AST | None) -> bool:
    """Return whether a field is left out of the text of its class: `field(repr=False)`."""
    return isinstance(field, ast.Call) and any(
        keyword.arg == "repr" and getattr(keyword.value, "value", None) is False for keyword in field.keywords
    )


def _is_plain(base: object) -> bool:
    return isinstance(base, Known) and base.name in _PLAIN_BASES


def is_date(value: Value) -> bool:
    """Return whether a value is a date, whose hash is made of its bytes."""
    return isinstance(value, Produced) and value.name.startswith("datetime.")


def weak_collections(values: Iterable[Value]) -> Iterator[str]:
    """Yield the names of those of some values, or of what they belong to, that lose elements to the garbage collector."""
    for value in values:
        name = value.name if isinstance(value, Produced) else ""
        yield from (call for call in (name, name.rpartition(".")[0]) if call in COLLECTED)


def is_weak_table(values: Iterable[Value]) -> bool:
    """Return whether what a table has under a key may be gone."""
    return any(
        isinstance(value, Produced) and value.name == "weakref.WeakValueDictionary" for value in values
    )
