"""Find the sources that are called when a class of the module is instantiated: factories of its fields, and its bases."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from autochron.detect.catalogue import Source
from autochron.detect.scan.abstract_values import Known, PartialCall, Type, Value
from autochron.detect.scan.call_arguments import is_determined
from autochron.detect.scan.flow import FlowScope, ModuleFlow, Use
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.libraries import FACTORIES, FIELDS
from autochron.detect.scan.library_call import LibraryCall
from autochron.detect.scan.source_lookup import SourceLookup, is_class

_REFLECTING = ("fields", "asdict", "astuple", "getattr", "vars", "attrgetter", "replace", "deepcopy", "dumps")
"""Last names of callables that read the fields of an instance without their names."""
_OWN_MAKING = ("__init__", "__new__", "random", "getrandbits", "seed")
"""Methods of a class by which it need not call its base."""


class CalledSource(NamedTuple):
    """A source that an instantiation calls."""

    source: Source | LibraryCall
    name: str
    named_by: ast.expr | None = None
    """The expression that names it, if it is the factory of a field."""
    field: ast.Call | None = None
    """The call that makes the field."""
    field_name: str = ""


def sources_of_instance(
    evaluation: Evaluation, lookup: SourceLookup, scope: FlowScope, node: ast.Call
) -> Iterator[CalledSource]:
    """Yield the sources that are called when a class is instantiated by a call."""
    passed = {keyword.arg for keyword in node.keywords}
    for name, field, factory in _factories(evaluation, scope):
        for given in factory if name not in passed else ():
            value = given.values[0] if isinstance(given, PartialCall) and given.values else given
            source = lookup.find(value.name) if isinstance(value, Known) else None
            if isinstance(value, Known) and source is not None:
                yield CalledSource(source, value.name, value.node, field, name)
    if any(name in scope.bindings for name in _OWN_MAKING):
        return
    for base in evaluation.bases(scope):
        if isinstance(base, Type) and base.scope is not scope:
            yield from sources_of_instance(evaluation, lookup, base.scope, node)
        elif isinstance(base, Known):
            source = lookup.find(base.name)
            if source is not None and is_class(base.name) and not is_determined(source, node, 0):
                yield CalledSource(source, base.name)


def _factories(evaluation: Evaluation, scope: FlowScope) -> Iterator[tuple[str, ast.Call, tuple[Value, ...]]]:
    """Yield the name, the call and the factory of each field of a class that has one."""
    for name, bindings in scope.bindings.items():
        for binding in bindings:
            node = binding.node
            if binding.kind != "value" or not isinstance(node, ast.Call):
                continue
            called = evaluation.values(node.func, binding.spot)
            if any(isinstance(value, Known) and value.name in FIELDS for value in called):
                for keyword in node.keywords:
                    if keyword.arg in FACTORIES:
                        yield name, node, evaluation.values(keyword.value, binding.spot)


def is_always_given(flow: ModuleFlow, use: Use) -> bool:
    """Return whether a factory is that of a field which each instantiation in the module gives a value."""
    scope, call = use.spot.scope, use.call
    if scope.kind != "class" or call is None:
        return False
    field = next(
        (name for name, bindings in scope.bindings.items() if any(one.node is call for one in bindings)), None
    )
    name = scope.qualname.rpartition(".")[2]
    made = [site.node for site in flow.sites.get(name, ()) if isinstance(site.node, ast.Call)]
    loads = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(flow.tree))
    return (
        bool(made)
        and loads == len(made)
        and all(any(keyword.arg == field for keyword in each.keywords) for each in made)
    )


def is_left_out(flow: ModuleFlow, found: CalledSource) -> bool:
    """Return whether a field is neither shown nor compared with its instance, and the module reads it by no name."""
    options = {keyword.arg: keyword.value for keyword in found.field.keywords} if found.field else {}
    return (
        all(getattr(options.get(option), "value", None) is False for option in ("repr", "compare"))
        and found.field_name not in flow.attributes
        and not any(name in flow.sites for name in _REFLECTING)
        and "__dict__" not in flow.attributes
    )
