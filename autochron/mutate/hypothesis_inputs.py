"""Inputs that hypothesis draws, besides the edge inputs; the same ones each time."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from autochron.extras import extra
from autochron.mutate.boundary_values import Candidate

_NOWHERE = f"{os.devnull}/hypothesis"
"""A folder that nobody can make: hypothesis goes on without what it can't keep."""


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
        import hypothesis  # noqa: F401 - it is imported where it is used
    with _apart_from_the_program():
        return _drawn(known, count)


def warm_up() -> None:
    """Have hypothesis compute its tables of characters now, before there are forks that would each do so.

    Raises:
        MissingExtraError: hypothesis is not installed.
    """
    drawn([Candidate("", "", "", {"text": ""})], 1)


def _drawn(known: Sequence[Candidate], count: int) -> list[Candidate]:
    from hypothesis import HealthCheck, Phase, given, settings, strategies  # lazy: it is an extra

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


@contextmanager
def _apart_from_the_program() -> Iterator[None]:
    """Keep hypothesis from reading the constants of loaded modules, and from writing files.

    With a mutant, other modules may be loaded, and its inputs would not be those of the fix. Files in `.hypothesis` would be
    an effect of the tool, at whose call the inputs are drawn.
    """
    from hypothesis import configuration  # lazy: as above

    home = vars(configuration).get("__hypothesis_home_directory")
    providers: Any = sys.modules.get("hypothesis.internal.conjecture.providers")
    read = getattr(providers, "_get_local_constants", None)
    configuration.set_hypothesis_home_dir(_NOWHERE)
    if read is not None:  # else it is an older version, which has no such constants
        providers._get_local_constants = providers.Constants  # noqa: SLF001 - hypothesis has no option for it
    try:
        yield
    finally:
        configuration.set_hypothesis_home_dir(home)
        if read is not None:
            providers._get_local_constants = read  # noqa: SLF001 - as above


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
