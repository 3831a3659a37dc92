"""An open crossing: one execution of a boundary, from its start until its end is told to the handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from autochron._runtime import unpatched
from autochron._runtime.lazy import late_modules
from autochron._runtime.signals import is_interruption
from autochron.crossing.lanes import CURRENT, Root
from autochron.errors import AutochronError
from autochron.model import BoundaryRule, Form
from autochron.weaving.gate import Point

if TYPE_CHECKING:
    from autochron.crossing import adapters
    from autochron.ports import CrossingHandler
    from autochron.rules.compiled_boundary import CompiledBoundary
else:
    late_modules(globals(), "autochron.crossing.adapters")

get_ident = unpatched.get_ident

R = TypeVar("R")
"""What the handler keeps with a crossing."""

BUSY: set[int] = set()
"""Threads in which a handler is at work: what it calls of the program, such as a property, crosses nothing."""


class Crossing(Struct, Generic[R], eq=False):
    """One execution of a boundary, while it is open. It is the token that woven code holds, where that can't be suspended.

    Attributes:
        handler: who is told of it.
        point: the woven definition.
        boundary, rule: the rule that makes it a boundary, compiled and as it is.
        name, nth: its address.
        seq: its place in the order of starts, from 1.
        parent: the enclosing crossing, or None.
        root: the ground of its lane.
        within: its place among the crossings of its name under its parent, from 1.
        done: whether its end was told.
        form: the shape of what the call handed out.
        handed: facts about that object which its shape does not tell, as JSON data: its name, or that it was pending.
        is_stepping: whether a method of the object that it handed out is running.
        record: what the handler keeps with it; None before it begins, and where nothing is kept.
    """

    handler: CrossingHandler[Crossing[R]]
    point: Point
    boundary: CompiledBoundary
    rule: BoundaryRule
    name: str
    nth: int
    seq: int
    previous: Any
    root: Root
    parent: Any
    within: int
    collapses: bool
    done: bool = False
    _counts: dict[str, int] | None = None
    record: R | None = None
    form: Form = "value"
    handed: dict[str, Any] | None = None
    is_stepping: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """How many crossings of each name began right inside."""
        if self._counts is None:
            self._counts = {}
        return self._counts

    @property
    def address(self) -> str:
        """Name and occurrence."""
        return f"{self.name}[{self.nth}]"

    # --- told by woven code ------------------------------------------------------------------------------------------

    def returned(self, value: Any) -> Any:
        """Leave, and follow what can't be known yet."""
        if CURRENT.get(None) is self:  # as `_leave` does
            CURRENT.set(self.previous)
        else:
            self._leave()
        if self.done:
            return value
        try:
            if type(value) not in adapters.PLAIN:
                followed = adapters.adapt(self, value)
                if followed is not None:
                    return followed
        except (
            Exception
        ) as error:  # of a metaclass whose classes can't be hashed, or raise when they are asked
            if isinstance(error, AutochronError) or is_interruption(error):
                raise
        self.done = True  # as `_end` does
        ident = get_ident()
        BUSY.add(ident)
        try:
            return self.handler.returned(self, value)
        finally:
            BUSY.discard(ident)

    def raised(self, error: BaseException) -> None:
        """Leave, with the error."""
        self._leave()
        if not self.done:
            self.done = True
            ident = get_ident()
            BUSY.add(ident)
            try:
                self.handler.raised(self, error)
            finally:
                BUSY.discard(ident)

    def yielded(self, item: Any) -> None:
        """Leave until `resumed`: what the consumer does meanwhile is not inside."""
        self._leave()
        ident = get_ident()
        BUSY.add(ident)
        try:
            self.handler.item(self, item)
        finally:
            BUSY.discard(ident)

    def substituted(self, argument: Any) -> Any:
        """Return what the body gets for the argument that is the outcome."""
        if self.boundary.outcome is None:  # another rule at this point has one
            return argument
        ident = get_ident()
        BUSY.add(ident)
        try:
            return self.handler.substituted(self, argument)
        finally:
            BUSY.discard(ident)

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Enter again, from wherever the consumer is now, with what it sent or threw in."""
        previous = CURRENT.get(None)
        if previous is not self:
            self.previous = previous if previous is not None else self.root
            CURRENT.set(self)
        if sent is not None or (thrown is not None and type(thrown) is not GeneratorExit):
            self._sent(sent, thrown)

    # --- for what the kernel follows ---------------------------------------------------------------------------------

    def ended(self, value: Any) -> Any:
        """End with a value that is there."""
        self._leave()
        return value if self.done else self._end(value)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _sent(self, sent: Any, thrown: BaseException | None) -> None:
        ident = get_ident()
        BUSY.add(ident)
        try:
            self.handler.sent(self, sent, thrown)
        finally:
            BUSY.discard(ident)

    def _end(self, value: Any) -> Any:
        self.done = True
        ident = get_ident()
        BUSY.add(ident)
        try:
            return self.handler.returned(self, value)
        finally:
            BUSY.discard(ident)

    def _leave(self) -> None:
        """Make current again what was before, unless this is not open here: closed from elsewhere, or left already."""
        current = CURRENT.get(None)
        while current is not self:
            if type(current) is not Crossing:
                return
            current = current.previous
        CURRENT.set(self.previous)


def is_inside() -> bool:
    """Return whether a crossing is open around what runs now that a replay would not run."""
    current = CURRENT.get(None)
    crossing = current if current is None or type(current) is Crossing else current.parent
    while type(crossing) is Crossing and crossing.boundary.runs:
        crossing = crossing.parent
    return crossing is not None
