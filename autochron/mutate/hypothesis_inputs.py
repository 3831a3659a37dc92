"""Inputs that hypothesis draws, besides the edge inputs; the same ones each time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from autochron.extras import extra
from autochron.mutate.boundary_values import Candidate


def drawn(known: Sequence[Candidate], count: int) -> list[Candidate]:
    """Return distinct new inputs. Each argument has one of the known values, or any value of its type.

    Args:
        known: the recorded input first, then the edge inputs.
        count: how many inputs hypothesis tries; fewer of them are new.

    Raises:
        MissingExtraError: hypothesis is not installed.
    """
    with extra("hypothesis", "--hypothesis"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from hypothesis import HealthCheck, Phase, given, settings, strategies
    recorded = known[0].arguments
    by_argument = {
        name: strategies.one_of(
            strategies.sampled_from(
                [candidate.arguments[name] for candidate in known if name in candidate.arguments]
            ),
            _strategy_for(strategies, value),
        )
        for name, value in recorded.items()
    }
    inputs: list[Candidate] = []
    seen = {repr(candidate.arguments) for candidate in known}

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategies.fixed_dictionaries(by_argument))
    def draw(arguments: dict[str, Any]) -> None:
        if repr(arguments) not in seen:
            seen.add(repr(arguments))
            changed = [name for name, value in arguments.items() if repr(value) != repr(recorded[name])]
            value = arguments[changed[0]] if len(changed) == 1 else _subset(arguments, changed)
            inputs.append(Candidate(", ".join(changed), value, "drawn by hypothesis", arguments))

    draw()
    return inputs


def _subset(arguments: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: arguments[name] for name in names}


def _strategy_for(strategies: Any, value: Any) -> Any:
    """Return a strategy for values of the type of a value.

    Lists and tables have members of the types of the value's members. A type that hypothesis doesn't draw gets the
    value itself.
    """
    if isinstance(value, bool):
        return strategies.booleans()
    if isinstance(value, list | tuple) and value:
        lists = strategies.lists(
            strategies.one_of(*(_strategy_for(strategies, member) for member in value)),
            max_size=len(value) + 2,
        )
        return lists if isinstance(value, list) else lists.map(tuple)
    if isinstance(value, dict):
        return strategies.fixed_dictionaries(
            {key: _strategy_for(strategies, member) for key, member in value.items()}
        )
    if type(value) in {int, str, bytes}:
        return strategies.from_type(type(value))
    if type(value) is float:
        return strategies.floats(allow_nan=False)
    return strategies.just(value)
