"""Inputs drawn by hypothesis, beside those at the edges: the same ones each time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from autochron.errors import UsageError
from autochron.mutate.boundary_values import Candidate


def drawn(known: Sequence[Candidate], count: int) -> list[Candidate]:
    """Return so many distinct inputs. Each argument is one of the known values, or any value of its type.

    Args:
        known: the recorded input, and those at the edges.
        count: how many hypothesis tries; fewer are new.

    Raises:
        UsageError: hypothesis isn't installed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from hypothesis import HealthCheck, Phase, given, settings, strategies
    except ImportError:
        raise UsageError(
            "--hypothesis draws with hypothesis; install it: pip install 'autochron[hypothesis]'"
        ) from None
    recorded = known[0].arguments
    by_argument = {
        name: strategies.one_of(
            strategies.sampled_from([each.arguments[name] for each in known if name in each.arguments]),
            _any(strategies, value),
        )
        for name, value in recorded.items()
    }
    found: list[Candidate] = []
    seen = {repr(each.arguments) for each in known}

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
            value = arguments[changed[0]] if len(changed) == 1 else _few(arguments, changed)
            found.append(Candidate(", ".join(changed), value, "drawn by hypothesis", arguments))

    draw()
    return found


def _few(arguments: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: arguments[name] for name in names}


def _any(strategies: Any, value: Any) -> Any:
    """Return any value of a type: lists and tables of such values; else what hypothesis knows; else the value itself."""
    if isinstance(value, bool):
        return strategies.booleans()
    if isinstance(value, list | tuple) and value:
        of = strategies.lists(
            strategies.one_of(*(_any(strategies, each) for each in value)), max_size=len(value) + 2
        )
        return of if isinstance(value, list) else of.map(tuple)
    if isinstance(value, dict):
        return strategies.fixed_dictionaries({key: _any(strategies, each) for key, each in value.items()})
    if type(value) in {int, str, bytes}:
        return strategies.from_type(type(value))
    if type(value) is float:
        return strategies.floats(allow_nan=False)
    return strategies.just(value)
