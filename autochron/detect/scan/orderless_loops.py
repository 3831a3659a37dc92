"""Find the loops that have the same effect in any order of what they go through."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from autochron.detect.scan.abstract_values import Container, Instance, Plain, Set
from autochron.detect.scan.call_effects import COMPUTING
from autochron.detect.scan.flow import Spot, Use, is_count, last_name
from autochron.detect.scan.infer import Evaluation

_ASKING = COMPUTING | {"len", "isinstance", "result", "exception", "done", "cancelled", "get"}
"""Last names of callables that may be called in any order."""
_ENDS = (ast.Return, ast.Raise, ast.Assert)


def loses_order(evaluation: Evaluation, use: Use) -> bool:
    """Return whether the code around a call makes nothing of the order of its results."""
    return use.order_lost or loses_order_in(evaluation, use, use.body)


def tables_filled(evaluation: Evaluation, use: Use) -> list[ast.expr]:
    """Return the tables of which a loop decides only the order of the keys; none if it decides more, or has no effect.

    It counts under keys, or has one key for each element.
    """
    tables, others = list[ast.expr](), list[ast.stmt]()
    for statement in use.body:
        match statement:
            case ast.AugAssign(target=ast.Subscript(value=ast.Name() as table, slice=key), op=ast.Add()) if (
                is_count(statement.value)
            ):
                parts = [key]
            case ast.Assign(targets=[ast.Subscript(value=ast.Name() as table, slice=key)]) if _is_element(
                key, use
            ) or _is_job(evaluation, key, use):
                parts = [key, statement.value]
            case _:
                others.append(statement)
                continue
        if not all(_only_asks(part, {table.id}) for part in parts) or any(
            isinstance(value, Instance) for value in evaluation.values(table, use.spot)
        ):
            return []
        tables.append(table)
    is_rest_orderless = not others or loses_order_in(evaluation, use, others)
    return tables if is_rest_orderless and not _is_read_after(evaluation, use) else []


def _is_read_after(evaluation: Evaluation, use: Use) -> bool:
    """Return whether what a loop's variable is bound to at last is read after the loop."""
    end = max((statement.end_lineno or statement.lineno) for statement in use.body) if use.body else 0
    return any(
        isinstance(read.node, ast.Name)
        and read.node.lineno > end
        and _is_element(read.node, use)
        and read.spot.scope.find(read.node.id) is use.spot.scope.find(read.node.id)
        for read in evaluation.flow.references
        if read.spot.scope.body is use.spot.scope.body
    )


def _is_job(evaluation: Evaluation, key: ast.expr, use: Use) -> bool:
    """Return whether a key is what a future was made for: `jobs[future]`, with `jobs = {submit(work, name): name …}`.

    Two futures with the same key have the same arguments, so it is the same whose result is kept.
    """
    match key:
        case ast.Subscript(value=ast.Name(id=jobs), slice=future) if _is_element(future, use):
            scope = use.spot.scope.find(jobs)
            bindings = scope.bindings[jobs] if scope is not None else []
            stored = evaluation.flow.items.get(jobs, [])
            return (
                len(bindings) == 1
                and not stored
                and isinstance(bindings[0].node, ast.DictComp)
                and _names_arguments(bindings[0].node)
            )
    return False


def _names_arguments(jobs: ast.DictComp) -> bool:
    """Return whether the values of a dictionary by futures tell all that differs between the calls that made these."""
    targets = [each.target for each in jobs.generators]
    bound = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    told = {part.id for part in _elements_of(jobs.value) if isinstance(part, ast.Name)}
    if not isinstance(jobs.key, ast.Call):
        return False
    match jobs.generators[0]:
        case ast.comprehension(
            iter=ast.Call(func=ast.Name(id="enumerate")), target=ast.Tuple(elts=[ast.Name(id=number), _])
        ) if number in told and len(targets) == 1:
            return True
    asked = {part.id for part in ast.walk(jobs.key) if isinstance(part, ast.Name)}
    return bool(told) and (asked & bound) <= told


def _elements_of(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _is_element(name: ast.expr, use: Use) -> bool:
    """Return whether a name is bound to the elements of what a loop goes through, and to nothing else."""
    if not isinstance(name, ast.Name):
        return False
    scope = use.spot.scope.find(name.id)
    bindings = scope.bindings[name.id] if scope is not None else []
    return bool(bindings) and all(
        binding.kind == "element" and binding.node is use.node for binding in bindings
    )


def loses_order_in(evaluation: Evaluation, use: Use, body: Sequence[ast.stmt]) -> bool:
    """Return whether statements in the body of a loop have the same effect in any order of the elements."""
    if not body or _is_read_after(evaluation, use):
        return False
    filled = {name for statement in body for name in _filled(statement)}
    if not all(_is_orderless(evaluation, statement, use, filled) for statement in body):
        return False
    kinds = dict[str, set[str]]()
    for statement in body:
        for part in ast.walk(statement):
            if isinstance(part, ast.AugAssign):
                is_sum = isinstance(part.op, ast.Add | ast.Sub)
                kinds.setdefault(last_name(part.target), set()).add("" if is_sum else type(part.op).__name__)
    if any(len(each) > 1 for each in kinds.values()):
        return False  # such as `total += 1` and `total *= 2`
    ends = {ast.dump(part) for statement in body for part in ast.walk(statement) if isinstance(part, _ENDS)}
    return len(ends) < 2 and not (ends and filled)


def _filled(statement: ast.stmt) -> Iterator[str]:
    """Yield the names of what a statement changes."""
    for part in ast.walk(statement):
        match part:
            case ast.AugAssign(target=target) | ast.Assign(targets=[target]):
                yield last_name(target.value if isinstance(target, ast.Subscript) else target)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=target))):
                yield last_name(target)


def _is_orderless(evaluation: Evaluation, statement: ast.stmt, use: Use, filled: set[str]) -> bool:
    """Return whether a statement has the same effect in any order of the elements.

    Args:
        evaluation: the values of the module.
        statement: the statement.
        use: what the loop goes through.
        filled: the names of what the loop changes, which nothing may ask for meanwhile.
    """
    spot = use.spot
    match statement:
        case ast.Pass() | ast.Continue():
            return True
        case ast.Delete(targets=[ast.Subscript(value=ast.Name(id=table), slice=ast.Name() as key)]):
            return table not in filled and _is_element(key, use)
        case ast.Assert(test=test, msg=message):
            return _only_asks(test, filled) and (message is None or isinstance(message, ast.Constant))
        case ast.Raise(exc=error):
            return error is None or _is_constant(error)
        case ast.Return(value=value):
            return value is None or isinstance(value, ast.Constant)
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name() as target, attr="pop"), args=[element, default]
            )
        ) if isinstance(default, ast.Constant):
            values = evaluation.values(target, spot)
            is_table = bool(values) and all(
                isinstance(value, Container) and value.type in ("dict", "defaultdict") for value in values
            )
            return is_table and _is_element(element, use)
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=target, attr=name), args=[element], keywords=[])
        ):
            is_set = any(isinstance(value, Set) for value in evaluation.values(target, spot))
            return is_set and name in ("add", "discard") and _only_asks(element, filled)
        case ast.Expr(value=value):
            return isinstance(value, ast.Constant)
        case ast.AugAssign(target=ast.Name() as target, op=operator, value=value):
            return _only_asks(value, filled) and _is_merged(evaluation, target, operator, value, spot)
        case ast.Assign(targets=[ast.Subscript(value=ast.Name() as table, slice=place)], value=value):
            is_of_element = _is_element(place, use) or _is_job(evaluation, place, use)
            return (
                is_of_element  # such as `results[place_of[job]]`
                and _is_filled_list(table, spot)
                and all(_only_asks(part, filled) for part in (place, value))
            )
        case ast.If(test=test, body=body, orelse=else_body):
            asked = filled - {_added_to(statement)}
            return _only_asks(test, asked) and all(
                _is_orderless(evaluation, inner, use, filled) for inner in (*body, *else_body)
            )
        case _:
            return False


def _added_to(statement: ast.If) -> str:
    """Return the name of the set of `if x not in seen: seen.add(x)`; an empty text for another statement."""
    match statement:
        case ast.If(
            test=ast.Compare(left=asked, ops=[ast.NotIn()], comparators=[ast.Name(id=name)]),
            body=[ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=filled)), args=[added]))],
        ) if name == filled and ast.dump(asked) == ast.dump(added):
            return name
    return ""


def _only_asks(node: ast.expr, filled: set[str]) -> bool:
    """Return whether an expression changes nothing, and asks for nothing that a loop changes."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute) and last_name(part) in filled:
            return False
        if isinstance(part, ast.Call) and last_name(part.func) not in _ASKING:
            return False
        if isinstance(part, ast.NamedExpr | ast.Yield | ast.YieldFrom):
            return False
    return True


def _is_constant(error: ast.expr) -> bool:
    """Return whether an exception says nothing of the element for which it is raised."""
    arguments = [*error.args, *error.keywords] if isinstance(error, ast.Call) else []
    return not any(isinstance(part, ast.Name) for argument in arguments for part in ast.walk(argument))


def _is_merged(
    evaluation: Evaluation, target: ast.Name, operator: ast.operator, value: ast.expr, spot: Spot
) -> bool:
    """Return whether an augmented assignment has the same result in any order."""
    values = evaluation.named(target.id, spot)
    if isinstance(operator, ast.BitOr | ast.BitAnd | ast.BitXor):
        return bool(values) and all(
            isinstance(each, Set) or (isinstance(each, Plain) and each.type in ("int", "bool"))
            for each in values
        )
    # Sums of floats depend on the order of what is added.
    added = (*values, *evaluation.values(value, spot))
    is_whole = len(added) > len(values) and all(
        isinstance(each, Plain) and each.type in ("int", "bool") for each in added
    )
    return isinstance(operator, ast.Add | ast.Sub) and (is_count(value) or is_whole)


def _is_filled_list(node: ast.Name, spot: Spot) -> bool:
    """Return whether a name is bound to a list that has all its places: `[None] * 3`."""
    scope = spot.scope.find(node.id)
    bindings = scope.bindings[node.id] if scope is not None else []
    return bool(bindings) and all(
        isinstance(binding.node, ast.BinOp)
        and isinstance(binding.node.op, ast.Mult)
        and isinstance(binding.node.left, ast.List)
        for binding in bindings
    )
