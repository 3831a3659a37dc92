"""The compiled form of a boundary rule at one definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from autochron.model import BoundaryRule
    from autochron.rules.names import NameTemplate

Reader: TypeAlias = Callable[[tuple[Any, ...]], Sequence[Any]]
"""Returns the values at a path in the bound arguments of a call; none if the path leads nowhere."""

Condition: TypeAlias = Callable[[tuple[Any, ...]], bool]
"""Returns whether the bound arguments of a call fit a rule."""


class CompiledBoundary:
    """One rule at one definition, with all that the kernel needs at each call computed beforehand.

    Attributes:
        rule: the rule.
        template: the template of the crossing's name.
        name: the name, if it is the same for every call; else None.
        fits: the rule's condition; None if every call fits.
        passed: reads the argument that is woven in place of the call; None if the call itself is the crossing.
        outcome: the parameter whose argument is the outcome; None if the result is.
        collapses: whether a call directly inside another crossing of this kind is no crossing of its own.
        is_tool: whether it is not a model.
        runs: whether the body runs on every replay, even if nothing is live.
        is_found: whether only calls count that a model has asked for: no rule names the tool.
        inputs: the handler's reader of a call's input; opaque to the kernel.
    """

    __slots__ = (
        "_models", "collapses", "fits", "inputs", "is_found", "is_tool", "name", "outcome", "passed", "rule",
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
        """Make one for a rule.

        Args:
            rule: the rule.
            template: the template of the crossing's name.
            name: the name, if it is the same for every call; else None.
            fits: the rule's condition; None if every call fits.
            passed: reads the argument that is woven in place of the call, or None.
            outcome: the parameter whose argument is the outcome, or None.
            models: read the arguments that may name the model of a call, in the order in which they are tried.
        """
        self.rule = rule
        self.template = template
        self.name = name
        self.fits = fits
        self.passed = passed
        self.outcome = outcome
        self.collapses = rule.pack is not None and rule.kind == "model"
        self.is_tool = rule.kind != "model"
        self.runs = rule.observe or outcome is not None
        self.is_found = rule.is_found
        self.inputs: Any = None
        self._models = models

    def model(self, arguments: tuple[Any, ...]) -> str | None:
        """Return the model that a call names in its arguments; None if it names none."""
        for read in self._models:
            for value in read(arguments):
                if issubclass(type(value), str):  # `isinstance` would evaluate a lazy object
                    model: str = value
                    return model
        return None
