"""The mutants of a function: the changes of an operator set, without those that change nothing or repeat another."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import msgspec
from msgspec import Struct
from parso.tree import BaseNode, NodeOrLeaf

from autochron.errors import UsageError
from autochron.mutate.bytecode import fingerprint
from autochron.mutate.model import Mutant, MutationTarget
from autochron.mutate.operators import operator_class
from autochron.mutate.parsing import MutationPlace, OperatorArguments, ParsedModule, parse, read_source
from autochron.mutate.regions import Region, is_noise, regions
from autochron.mutate.sets import OperatorSet

_OF_THE_INCIDENT = frozenset({"autochron/OneLiteral"})
"""Operators that are made with what the arguments were in the incident."""


class Generated(Struct, frozen=True, kw_only=True):
    """The changes that an operator set makes in a function.

    Attributes:
        mutants: in the order of the source, then of the operators.
        generated: how many changes were made.
        same_bytecode: how many of these compile to the bytecode of the source.
        duplicates: how many of these compile to the bytecode of another mutant, which is kept.
        invalid: the ids of the mutants that are not valid Python.
        source: the text of the file.
    """

    mutants: tuple[Mutant, ...]
    generated: int
    same_bytecode: int
    duplicates: int
    invalid: tuple[str, ...] = ()
    source: str


class _OperatorUse(Struct, frozen=True):
    """One change: the operator with its rank in the set, the number of its place, the place, and its region."""

    operator: str
    arguments: OperatorArguments
    rank: int
    occurrence: int
    place: MutationPlace
    region: Region


def generate(
    folder: Path,
    incident: str,
    target: MutationTarget,
    operators: OperatorSet,
    *,
    everything: bool = False,
    literals: Mapping[str, str] | None = None,
) -> Generated:
    """Make the mutants of a function.

    Args:
        folder: the incident's folder.
        incident: the name of the incident.
        target: the function.
        operators: the operators.
        everything: whether decorators, defaults, docstrings and f-strings are changed as well; annotations never are.
        literals: by the name of an argument what it was in the incident, in Python's notation.

    Raises:
        UsageError: there is no such function, or parso misreads the module before the function's end.
    """
    source = read_source(folder, target.file)
    parsed = parse(source, target.file)
    changed_regions = _regions(parsed, target.function, operators, everything=everything)
    changes = list(_changes(parsed, operators, changed_regions, dict(literals or {})))
    mutants: list[Mutant] = []
    invalid: list[str] = []
    programs: set[tuple[Any, ...]] = set()
    same_bytecode = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler warns of mutants such as `"a" is b`
        original = {id(node): _program(parsed, node, source) for node in _statements(parsed, changes)}
        for change in changes:
            text = _changed_text(parsed, change.operator, change.arguments, change.place)
            statement = parsed.statement(change.place.node)
            program = _program(parsed, statement, text)
            if program == original[id(statement)]:
                same_bytecode += 1
            elif (key := (id(statement), program)) not in programs:
                programs.add(key)
                mutants.append(_mutant(parsed, incident, target, change, text))
                if isinstance(program, str):
                    invalid.append(mutants[-1].id)
    return Generated(
        mutants=tuple(mutants),
        generated=len(changes),
        same_bytecode=same_bytecode,
        duplicates=len(changes) - same_bytecode - len(mutants),
        invalid=tuple(invalid),
        source=source,
    )


def mutated(source: str, mutant: Mutant) -> str:
    """Return the text of a mutant's file.

    Args:
        source: the text without the mutant.
        mutant: the mutant.

    Raises:
        UsageError: the mutant was made from another text.
    """
    parsed = parse(source, mutant.target.file)
    places = parsed.places(mutant.operator, mutant.arguments)
    if mutant.occurrence < len(places):
        place = places[mutant.occurrence]
        if _replaced(parsed, place) == mutant.before:
            return _changed_text(parsed, mutant.operator, mutant.arguments, place)
    raise UsageError(
        f"{mutant.target.file}:{mutant.line}: mutant {mutant.id} was made of another source, with `{mutant.before}` there; "
        "generate the mutants anew"
    )


# --- Places ---


def _regions(
    parsed: ParsedModule, function: str, operators: OperatorSet, *, everything: bool
) -> list[Region]:
    """Return the regions to change, after checking that parso has read them correctly."""
    definition = parsed.definition(function)
    parsed.check(function, (definition.end_lineno or definition.lineno) + 1)
    changed_regions = regions(parsed, function, definition, operators.places, everything=everything)
    # A constant may be defined below the function.
    parsed.check(
        function, max((node.end_pos[0] + 1 for region in changed_regions for node in region.nodes), default=0)
    )
    return changed_regions


def _changes(
    parsed: ParsedModule, operators: OperatorSet, changed_regions: list[Region], literals: OperatorArguments
) -> Iterator[_OperatorUse]:
    """Return all changes, in the order of the source and then of the operators."""
    region_of = {id(node): region for region in changed_regions for node in region.nodes}
    changes = [
        _OperatorUse(operator, arguments, rank, occurrence, place, region_of[id(place.node)])
        for rank, operator in enumerate(operators.operators)
        for arguments in ({} if operator not in _OF_THE_INCIDENT else literals,)
        for occurrence, place in enumerate(parsed.places(operator, arguments))
        if id(place.node) in region_of and not is_noise(place.node, _replaced(parsed, place))
    ]
    return iter(sorted(changes, key=lambda change: (change.place.position, change.rank, change.occurrence)))


def _statements(parsed: ParsedModule, changes: list[_OperatorUse]) -> list[NodeOrLeaf]:
    """Return the statements of the module that changes are in, each once."""
    return list(
        {id(node): node for node in (parsed.statement(change.place.node) for change in changes)}.values()
    )


def _replaced(parsed: ParsedModule, place: MutationPlace) -> str:
    """Return the code that is replaced in a place."""
    start, end = place.position
    return parsed.text[parsed.offsets[start] : parsed.offsets[end]]


# --- Mutants ---


def _changed_text(
    parsed: ParsedModule, operator: str, arguments: OperatorArguments, place: MutationPlace
) -> str:
    """Apply an operator to a copy of a node, and return the module's text with the result."""
    change = operator_class(operator)(**arguments).mutate(_copied(place.node, place.node.parent), place.index)
    start, end = parsed.span(place.node)
    code = "" if change is None else change.get_code()
    return f"{parsed.text[:start]}{code}{parsed.text[end:]}"


def _copied(node: NodeOrLeaf, parent: BaseNode | None) -> NodeOrLeaf:
    """Copy a node and all below it. The nodes above are shared: an operator may read them, but never changes them."""
    copied = object.__new__(type(node))
    for name in _slots_of(type(node)):
        setattr(copied, name, getattr(node, name))
    copied.parent = parent
    if isinstance(copied, BaseNode):
        copied.children = [_copied(child, copied) for child in copied.children]
    return copied


_SLOTS: dict[type, tuple[str, ...]] = {}


def _slots_of(node_type: type) -> tuple[str, ...]:
    if node_type not in _SLOTS:
        _SLOTS[node_type] = tuple(
            name for base in node_type.__mro__ for name in getattr(base, "__slots__", ())
        )
    return _SLOTS[node_type]


def _program(parsed: ParsedModule, statement: NodeOrLeaf, text: str) -> tuple[Any, ...] | str:
    """Return the fingerprint of a changed statement, or its text where it is not valid Python.

    Only the statement is compiled: the rest of the module compiles to the same bytecode, and would take most of the
    time.

    Args:
        parsed: the unchanged module.
        statement: a statement at the module's top level.
        text: the module's text, changed inside that statement only.
    """
    start, end = parsed.span(statement)
    source = text[start : len(text) - (len(parsed.text) - end)]
    try:
        compiled: CodeType = compile(
            source, parsed.file, "exec", flags=parsed.future, dont_inherit=True, optimize=0
        )
    except (SyntaxError, ValueError):
        return source
    return fingerprint(compiled)


def _mutant(
    parsed: ParsedModule, incident: str, target: MutationTarget, change: _OperatorUse, text: str
) -> Mutant:
    place, region = change.place, change.region
    (line, column), (end_line, end_column) = place.position
    before, after = _replaced(parsed, place), _replacement(parsed, place, text)
    # Counted from the start of the region, so that code before it does not change the id.
    number = sum(
        earlier.order >= region.first
        for earlier in parsed.places(change.operator, change.arguments)[: change.occurrence]
    )
    identity: tuple[Any, ...] = (
        incident,
        target.file,
        target.function,
        region.name,
        change.operator,
        change.arguments,
        number,
        before,
        after,
    )
    return Mutant(
        id=hashlib.sha256(msgspec.json.encode(identity)).hexdigest()[:12],
        incident=incident,
        target=target,
        operator=change.operator,
        occurrence=change.occurrence,
        arguments=change.arguments,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        before=before,
        after=after,
        at_import=region.at_import,
    )


def _replacement(parsed: ParsedModule, place: MutationPlace, text: str) -> str:
    """Return the code in the place of the replaced code; an operator may have changed the blanks around it as well."""
    start, end = (parsed.offsets[position] for position in place.position)
    rest = len(parsed.text) - end
    while parsed.text[:start] != text[:start]:
        start -= 1
    while rest and parsed.text[-rest:] != text[-rest:]:
        rest -= 1
    return text[start : len(text) - rest].strip()
