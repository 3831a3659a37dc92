"""A rule that makes a boundary, compiled for one definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from autochron.model import BoundaryRule
    from autochron.rules.names import NameTemplate

Reader: TypeAlias = Callable[[tuple[Any, ...]], Sequence[Any]]
"""Returns what stands at a path in the bound arguments of a call; nothing where something on the way isn't there."""

Condition: TypeAlias = Callable[[tuple[Any, ...]], bool]
"""Returns whether the bound arguments of a call fit a rule."""


class CompiledBoundary:
    """One rule at one definition, compiled: what the kernel asks of it at each call.

    Attributes:
        rule: as it was read.
        template: of the crossing's name.
        name: the name, where it is the same for every call; else None.
        fits: the rule's condition; None where every call fits.
        passed: returns what is woven instead of the call; None where the call is the crossing.
        outcome: the parameter whose argument is the outcome, or None.
        collapses: whether a crossing right inside another such one is none.
        is_tool: whether what it calls is no model.
        runs: whether the body runs on a replay, too, whatever is live.
        inputs: how the handler reads a call's input; opaque to the kernel.
    """

    __slots__ = (
        "_models", "collapses", "fits", "inputs", "is_tool", "name", "outcome", "passed", "rule",
        "runs", "template",
    )  # fmt: skip

    def __init__(
        self,
        rule: BoundaryRule,
        template: NameTemplate,
        name: str | None,
        *,
        fits: Condition | None,
        passed: Reader | None,
        outcome: str | None,
        models: Sequence[Reader],
    ) -> None:
        """Take `models`, which read the arguments that may name the model of a call."""
        self.rule = rule
        self.template = template
        self.name = name
        self.fits = fits
        self.passed = passed
        self.outcome = outcome
        self.collapses = rule.pack is not None and rule.kind == "model"
        self.is_tool = rule.kind != "model"
        self.runs = rule.observe or outcome is not None
        self.inputs: Any = None
        self._models = models

    def model(self, arguments: tuple[Any, ...]) -> str | None:
        """Return the model that a call names in its arguments."""
        for read in self._models:
            for value in read(arguments):
                if issubclass(type(value), str):  # `isinstance` would evaluate a lazy object
                    model: str = value
                    return model
        return None
