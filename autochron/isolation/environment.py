"""Set the environment variables that SDKs read in a replay: the recorded ones, and placeholders for credentials."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from autochron._runtime.unpatched import os
from autochron.crossing.pausing import PLACEHOLDER, put_back_variable, replace_variable
from autochron.redaction.redactor import MASK
from autochron.rules.packs import named_variables

if TYPE_CHECKING:
    from autochron.ports import Record
    from autochron.replaying.plan import ReplayPlan


def set_environment(record: Record, plan: ReplayPlan) -> Callable[[], None]:
    """Set the recorded variables of SDKs, and placeholders for credentials that are not set; return the undo function.

    Only variables that a shipped pack names are set, because a trace from elsewhere could name any. If a model is live,
    today's variables take precedence over the recorded ones: they say where the model is.
    """
    footer = record.footer
    if footer is None:
        return _nothing
    known = named_variables([*(name for name, _ in footer.environment), *footer.credentials])
    wanted = {
        name: value
        for name, value in footer.environment
        if name in known and MASK not in value and not (plan.models and name in os.environ)
    }
    return _replace(wanted | _unset(name for name in footer.credentials if name in known))


def fill_in(credentials: Iterable[str]) -> Callable[[], None]:
    """Set placeholders for those of these variables that are not set; return the undo function."""
    return _replace(_unset(credentials))


def _unset(names: Iterable[str]) -> dict[str, str]:
    return {name: PLACEHOLDER for name in names if name not in os.environ}


def _nothing() -> None:
    """Undo nothing."""


def _replace(wanted: dict[str, str]) -> Callable[[], None]:
    if not wanted:
        return _nothing
    for name, value in wanted.items():
        replace_variable(name, value)

    def undo() -> None:
        for name in wanted:
            put_back_variable(name)

    return undo
