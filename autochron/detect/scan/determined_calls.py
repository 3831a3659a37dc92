"""Find the calls of sources whose arguments determine the value."""

from __future__ import annotations

import ast

from autochron.detect.catalogue import Source
from autochron.detect.scan.abstract_values import Produced, Text, is_none
from autochron.detect.scan.call_arguments import argument_of, is_determined
from autochron.detect.scan.flow import Spot
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.library_call import LibraryCall
from autochron.detect.scan.passed_arguments import may_be_left_out


def may_be_determined(
    evaluation: Evaluation, source: Source | LibraryCall, node: ast.Call, skip: int, spot: Spot
) -> bool:
    """Return whether the arguments of a call determine its value; not by a parameter that may be None."""
    if isinstance(source, LibraryCall) and source.unless_of and node.args:
        given_first = evaluation.values(node.args[0], spot)
        return any(isinstance(value, Produced) and value.name == source.unless_of for value in given_first)
    if isinstance(source, LibraryCall) and source.only_of:
        given = evaluation.values(node.args[0], spot) if node.args else ()
        return not any(isinstance(value, Produced) and value.name in source.only_of for value in given)
    if source.category == "files" and node.args and _is_in_memory(evaluation, node.args[0], spot):
        return True
    if (
        isinstance(source, LibraryCall)
        and node.args
        and _is_any_of(evaluation, node.args[0], spot, source.harmless)
    ):
        return True
    if not is_determined(source, node, skip):
        return False
    determining = argument_of(source.determined_by, node, skip) if source.determined_by is not None else None
    is_made = not source.call.endswith("seed")  # of a seed that may be None, the draws after it are told
    if is_made and determining is not None and any(map(is_none, evaluation.values(determining, spot))):
        return False
    return not (isinstance(determining, ast.Name) and may_be_left_out(evaluation.flow, determining, spot))


def _is_any_of(evaluation: Evaluation, node: ast.expr, spot: Spot, texts: tuple[str, ...]) -> bool:
    """Return whether an expression is one of some texts, whichever of its values it has."""
    values = evaluation.values(node, spot) if texts else ()
    return bool(values) and all(isinstance(value, Text) and value.value in texts for value in values)


def _is_in_memory(evaluation: Evaluation, node: ast.expr, spot: Spot) -> bool:
    """Return whether what is opened is a buffer of the program."""
    values = evaluation.values(node, spot)
    return all(
        isinstance(value, Produced) and value.name in ("io.BytesIO", "io.StringIO") for value in values
    )
