"""Find which arguments an `extract_input` function keeps, and say that as the paths of a rule's `capture`.

The function is interpreted on symbols and never run. Each argument of the marked function is a symbol, and the function is
followed once for each way of passing the arguments: by position, by keyword, with and without defaults. It can be said where
each kept value is an argument, a part of one at a fixed path, a constant, or computed from arguments that are kept whole.
Such a computed value is not recorded: the recorded arguments and the source determine it.

A condition must be decidable from how the arguments are passed, or from their annotations: `if args`, `len(args) > 1`,
`isinstance(state, dict)` where the marked function says `state: dict`. Any other condition would need the values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from autochron.adopt.following import Run
from autochron.adopt.symbols import (
    ArgumentPart,
    Computed,
    InputNames,
    Kept,
    KnownValue,
    Listed,
    Mapped,
    Parameter,
    Raises,
    Symbol,
    UnsayableError,
)

_MOST_DEFAULTS: Final = 8
"""The most parameters with defaults: each can be passed or left out, and all combinations are followed."""


@dataclass(frozen=True)
class Extraction:
    """What an extractor keeps."""

    paths: tuple[str, ...]
    """Paths into the arguments, as in `capture`."""
    computed: tuple[str, ...] = ()
    """Names of further fields that are constants, or computed from arguments that are kept."""


def extraction(
    function: ast.FunctionDef | ast.Lambda, parameters: Sequence[Parameter], names: InputNames
) -> Extraction:
    """Return what an extractor keeps of the arguments of a marked function.

    Args:
        function: the extractor.
        parameters: those of the marked function.
        names: tells what the extractor's globals are.

    Raises:
        UnsayableError: it can't be said as `capture`.
    """
    kept = _Collected()
    followed = False
    for args, kwargs in _ways_of_calling(parameters, function):
        try:
            result = Run(parameters, names).call(function, args, kwargs)
        except Raises:
            continue
        followed = True
        if not isinstance(result, Kept):
            raise UnsayableError(function, "it does not return an `Input(...)` that the source shows")
        kept.add(function, "arguments", result.arguments)
        kept.add(function, "messages", result.messages)
    if not followed:
        raise UnsayableError(function, "it raises, however the arguments are passed")
    receivers = {parameter.name for parameter in parameters[:1]} & {"self", "cls"}
    if receivers & kept.paths.keys():
        raise UnsayableError(function, f"it keeps the receiver `{receivers.pop()}` itself")
    computed = kept.not_recorded(function)
    return Extraction(kept.minimal(function), computed)


class _Collected:
    """What an extractor keeps, in all ways of calling that were followed."""

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}
        self._fields: set[str] = set()
        self._computed: dict[str, frozenset[str]] = {}

    def add(self, node: ast.AST, name: str, value: Symbol) -> None:
        """Add what is in a kept value; `name` is the field that it is under."""
        match value:
            case ArgumentPart(path):
                self.paths[path] = None
                self._fields.add(name)
            case KnownValue() | Computed():
                paths = value.paths if isinstance(value, Computed) else frozenset()
                self._computed[name] = self._computed.get(name, frozenset()) | paths
            case Mapped(items, spread):
                for inner in spread:
                    self.add(node, name, inner)
                for key, inner in items.items():
                    self.add(node, key, inner)
            case Listed(items):
                for inner in items:
                    self.add(node, name, inner)
            case Kept():
                raise UnsayableError(node, "it keeps an `Input` in another one")

    def minimal(self, node: ast.AST) -> tuple[str, ...]:
        """Return the paths without those below others."""
        paths = tuple(path for path in self.paths if not self._has_above(path))
        if not paths:
            raise UnsayableError(
                node, "it keeps no argument as it is, and an empty `capture` keeps all of them"
            )
        return paths

    def not_recorded(self, node: ast.AST) -> tuple[str, ...]:
        """Return the fields that are constants or computed.

        Raises:
            UnsayableError: one is computed from an argument that isn't kept.
        """
        for name, paths in self._computed.items():
            for path in sorted(paths):
                if path not in self.paths and not self._has_above(path):
                    raise UnsayableError(
                        node, f"it keeps `{name}`, which it computes from `{path}`, and not `{path}` itself"
                    )
        return tuple(name for name, paths in self._computed.items() if paths or name not in self._fields)

    def _has_above(self, path: str) -> bool:
        return any(path.startswith(f"{other}.") for other in self.paths)


def _ways_of_calling(
    parameters: Sequence[Parameter], node: ast.AST
) -> Iterator[tuple[list[Symbol], dict[str, Symbol]]]:
    """Yield positional and keyword arguments for each way of passing them to the marked function."""
    if any(parameter.kind == "*" for parameter in parameters):
        raise UnsayableError(node, "the marked function takes any number of positional arguments")
    plain = [parameter for parameter in parameters if parameter.kind != "**"]
    optional = [parameter for parameter in plain if parameter.has_default]
    if len(optional) > _MOST_DEFAULTS:
        raise UnsayableError(
            node, f"the marked function has more than {_MOST_DEFAULTS} parameters with defaults"
        )
    has_receiver = bool(plain) and plain[0].name in {"self", "cls"}
    for number in range(1 << len(optional)):
        left_out = {parameter for place, parameter in enumerate(optional) if number >> place & 1}
        passed = [parameter for parameter in plain if parameter not in left_out]
        # By position goes what comes before the first that is left out, or that goes by keyword only.
        positional = list(
            takewhile(lambda each: each not in left_out and each.kind != "keyword", plain)  # noqa: B023 - used at once
        )
        must = sum(parameter.kind == "positional" for parameter in passed)
        for count in range(len(positional), max(must, int(has_receiver)) - 1, -1):
            args: list[Symbol] = [ArgumentPart(parameter.name) for parameter in positional[:count]]
            kwargs: dict[str, Symbol] = {
                parameter.name: ArgumentPart(parameter.name)
                for parameter in passed
                if parameter not in positional[:count]
            }
            yield args, kwargs
