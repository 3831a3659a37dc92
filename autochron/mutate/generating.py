"""The mutants of a function: every change of a set of operators, without those that change nothing or come twice."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
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
from autochron.mutate.parsing import MutationPlace, ParsedModule, parse, read
from autochron.mutate.regions import Region, is_noise, regions
from autochron.mutate.sets import OperatorSet


class Generated(Struct, frozen=True, kw_only=True):
    """What a set of operators makes of a function.

    Attributes:
        mutants: in the order of the source, then of the operators.
        generated: how many changes were made; of these
        same_bytecode: how many compile to what the source compiles to, and
        duplicates: how many to what another mutant, which is kept, does.
        invalid: the ids of the mutants that are no Python.
        source: the text of the file.
    """

    mutants: tuple[Mutant, ...]
    generated: int
    same_bytecode: int
    duplicates: int
    invalid: tuple[str, ...] = ()
    source: str


class _OperatorUse(Struct, frozen=True):
    """One change: what the operator is, which of its places, and the region that it is in."""

    operator: str
    rank: int
    occurrence: int
    place: MutationPlace
    region: Region


def generate(
    folder: Path, incident: str, target: MutationTarget, operators: OperatorSet, *, everything: bool = False
) -> Generated:
    """Make the mutants of a function.

    Its body only, without docstrings, annotations and the inside of f-strings; `everything` is with these but for
    annotations, and with its decorators and defaults. UsageError where the function isn't there, or parso misreads what
    stands before its end.
    """
    source = read(folder, target.file)
    parsed = parse(source, target.file)
    found = _regions(parsed, target.function, operators, everything=everything)
    changes = list(_changes(parsed, operators, found))
    mutants: list[Mutant] = []
    invalid: list[str] = []
    seen: set[tuple[Any, ...]] = set()
    same = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of compiling a mutant: `"a" is b`
        original = {id(node): _program(parsed, node, source) for node in _statements(parsed, changes)}
        for change in changes:
            text = _apply(parsed, change.operator, change.place)
            statement = parsed.statement(change.place.node)
            program = _program(parsed, statement, text)
            if program == original[id(statement)]:
                same += 1
            elif (key := (id(statement), program)) not in seen:
                seen.add(key)
                mutants.append(_mutant(parsed, incident, target, change, text))
                if isinstance(program, str):
                    invalid.append(mutants[-1].id)
    return Generated(
        mutants=tuple(mutants),
        generated=len(changes),
        same_bytecode=same,
        duplicates=len(changes) - same - len(mutants),
        invalid=tuple(invalid),
        source=source,
    )


def mutated(source: str, mutant: Mutant) -> str:
    """Return the text of a mutant; UsageError where the source isn't the one that it was made of."""
    parsed = parse(source, mutant.target.file)
    places = parsed.places(mutant.operator)
    if mutant.occurrence < len(places):
        place = places[mutant.occurrence]
        if _replaced(parsed, place) == mutant.before:
            return _apply(parsed, mutant.operator, place)
    raise UsageError(
        f"{mutant.target.file}:{mutant.line}: mutant {mutant.id} was made of another source, with `{mutant.before}` there; "
        "generate the mutants anew"
    )


# --- Places ---


def _regions(
    parsed: ParsedModule, function: str, operators: OperatorSet, *, everything: bool
) -> list[Region]:
    definition = parsed.definition(function)
    parsed.check(function, (definition.end_lineno or definition.lineno) + 1)
    found = regions(parsed, function, definition, operators.places, everything=everything)
    # A constant may stand below.
    parsed.check(function, max((node.end_pos[0] + 1 for region in found for node in region.nodes), default=0))
    return found


def _changes(parsed: ParsedModule, operators: OperatorSet, found: list[Region]) -> Iterator[_OperatorUse]:
    """Return all changes, in the order of the source and then of the operators."""
    inside = {id(node): region for region in found for node in region.nodes}
    changes = [
        _OperatorUse(operator, rank, occurrence, place, inside[id(place.node)])
        for rank, operator in enumerate(operators.operators)
        for occurrence, place in enumerate(parsed.places(operator))
        if id(place.node) in inside and not is_noise(place.node, _replaced(parsed, place))
    ]
    return iter(sorted(changes, key=lambda each: (each.place.position, each.rank, each.occurrence)))


def _statements(parsed: ParsedModule, changes: list[_OperatorUse]) -> list[NodeOrLeaf]:
    return list({id(node): node for node in (parsed.statement(each.place.node) for each in changes)}.values())


def _replaced(parsed: ParsedModule, place: MutationPlace) -> str:
    start, end = place.position
    return parsed.text[parsed.offsets[start] : parsed.offsets[end]]


# --- Mutants ---


def _apply(parsed: ParsedModule, operator: str, place: MutationPlace) -> str:
    """Change one place of a copy of its node, and give the module's text around it."""
    change = operator_class(operator)().mutate(_copied(place.node, place.node.parent), place.index)
    start, end = parsed.span(place.node)
    code = "" if change is None else change.get_code()
    return f"{parsed.text[:start]}{code}{parsed.text[end:]}"


def _copied(node: NodeOrLeaf, parent: BaseNode | None) -> NodeOrLeaf:
    """Copy a node and all below. What stands above is shared: an operator may look there, and changes nothing there."""
    made = object.__new__(type(node))
    for name in _slots(type(node)):
        setattr(made, name, getattr(node, name))
    made.parent = parent
    if isinstance(made, BaseNode):
        made.children = [_copied(child, made) for child in made.children]
    return made


_SLOTS: dict[type, tuple[str, ...]] = {}


def _slots(of: type) -> tuple[str, ...]:
    if of not in _SLOTS:
        _SLOTS[of] = tuple(name for base in of.__mro__ for name in getattr(base, "__slots__", ()))
    return _SLOTS[of]


def _program(parsed: ParsedModule, statement: NodeOrLeaf, text: str) -> tuple[Any, ...] | str:
    """Return what a statement of the module compiles to in a text that differs nowhere else; its text where it is no Python.

    The rest of the module compiles to the same whatever stands here, and would take most of the time.
    """
    start, end = parsed.span(statement)
    code = text[start : len(text) - (len(parsed.text) - end)]
    try:
        made: CodeType = compile(
            code, parsed.file, "exec", flags=parsed.future, dont_inherit=True, optimize=0
        )
    except (SyntaxError, ValueError):
        return code
    return fingerprint(made)


def _mutant(
    parsed: ParsedModule, incident: str, target: MutationTarget, change: _OperatorUse, text: str
) -> Mutant:
    place, region = change.place, change.region
    (line, column), (end_line, end_column) = place.position
    before, after = _replaced(parsed, place), _after(parsed, place, text)
    nth = sum(
        each.order >= region.first for each in parsed.places(change.operator)[: change.occurrence]
    )  # of this operator's, from where the region begins
    said: tuple[Any, ...] = (
        incident,
        target.file,
        target.function,
        region.name,
        change.operator,
        {},
        nth,
        before,
        after,
    )
    return Mutant(
        id=hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:12],
        incident=incident,
        target=target,
        operator=change.operator,
        occurrence=change.occurrence,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        before=before,
        after=after,
        at_import=region.at_import,
    )


def _after(parsed: ParsedModule, place: MutationPlace, text: str) -> str:
    """Return what stands where the replaced code stood; an operator may have changed the blanks around it, too."""
    start, end = (parsed.offsets[position] for position in place.position)
    rest = len(parsed.text) - end
    while parsed.text[:start] != text[:start]:
        start -= 1
    while rest and parsed.text[-rest:] != text[-rest:]:
        rest -= 1
    return text[start : len(text) - rest].strip()
