"""An open crossing: one execution of a boundary, from its start until its end is reported to the handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from autochron._runtime import unpatched
from autochron._runtime.lazy import late_modules
from autochron._runtime.signals import is_interruption
from autochron.crossing.lanes import CURRENT, LaneRoot
from autochron.errors import AutochronError
from autochron.model import BoundaryRule, Form
from autochron.weaving.gate import Point

if TYPE_CHECKING:
    from autochron.crossing import adapters
    from autochron.ports import CrossingHandler, Enclosing
    from autochron.rules.compiled_boundary import CompiledBoundary
else:
    late_modules(globals(), "autochron.crossing.adapters")

get_ident = unpatched.get_ident

R = TypeVar("R")
"""What the handler stores with a crossing."""

BUSY: set[int] = set()
"""Identifiers of threads in which a handler is running.

Program code that the handler calls there, such as a property, makes no crossings.
"""


class Crossing(Struct, Generic[R], eq=False):
    """One execution of a boundary, while it is open.

    It is also the token that woven code holds, unless that code can be suspended (see `SuspendableToken`).

    Attributes:
        handler: the recorder or the director, which is notified of every event.
        point: the woven definition.
        boundary: the compiled rule that makes it a boundary.
        rule: that rule as it was read.
        name, nth: its address: its name, and its occurrence of that name from 1.
        seq: its position in the order of starts, from 1.
        previous: what was current before it, and is again when it is left.
        root: the root of its lane.
        parent: the enclosing crossing, in this process or another one; None where there is none.
        within: its position among the crossings of its name under its parent, from 1.
        done: whether its end was reported to the handler.
        record: what the handler stores with it; None before `begin`, and where nothing is stored.
        form: the kind of object that the call handed out.
        handed: facts about that object beyond `form`, as JSON data, such as its name or whether it was pending.
        is_stepping: whether a method of the object that it handed out is running.
    """

    handler: CrossingHandler[Crossing[R]]
    point: Point
    boundary: CompiledBoundary
    rule: BoundaryRule
    name: str
    nth: int
    seq: int
    previous: Crossing[Any] | LaneRoot
    root: LaneRoot
    parent: Enclosing | None
    within: int
    done: bool = False
    _counts: dict[str, int] | None = None
    record: R | None = None
    form: Form = "value"
    handed: dict[str, Any] | None = None
    is_stepping: bool = False

    @property
    def collapses(self) -> bool:
        """Whether a model crossing of a pack that starts right inside this one is no crossing of its own."""
        return self.boundary.collapses

    @property
    def counts(self) -> dict[str, int]:
        """How many crossings of each name began directly inside it."""
        if self._counts is None:
            self._counts = {}
        return self._counts

    @property
    def address(self) -> str:
        """Its name and occurrence, such as `agent[2]`."""
        return f"{self.name}[{self.nth}]"

    # --- called by woven code ----------------------------------------------------------------------------------------

    def returned(self, value: Any) -> Any:
        """Leave the crossing, and follow a value that is not complete yet.

        Args:
            value: what the body returned.

        Returns:
            What the caller receives: the handler's replacement, or a stand-in where the value is followed to its end.
        """
        if CURRENT.get(None) is self:  # `_leave`, inlined: this is the hot path
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
        except Exception as error:
            # A metaclass may make classes that can't be hashed, or that raise when they are inspected.
            if isinstance(error, AutochronError) or is_interruption(error):
                raise
        self.done = True  # `_end`, inlined
        ident = get_ident()
        BUSY.add(ident)
        try:
            return self.handler.returned(self, value)
        finally:
            BUSY.discard(ident)

    def raised(self, error: BaseException) -> None:
        """Leave the crossing, and end it with an error."""
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
        """Report an item, and leave until `resumed`: what the consumer does meanwhile is not inside the crossing."""
        self._leave()
        ident = get_ident()
        BUSY.add(ident)
        try:
            self.handler.item(self, item)
        finally:
            BUSY.discard(ident)

    def substituted(self, argument: Any) -> Any:
        """Return what the body receives for the argument that a rule's `outcome` names."""
        if self.boundary.outcome is None:  # only another rule of this point names an `outcome`
            return argument
        ident = get_ident()
        BUSY.add(ident)
        try:
            return self.handler.substituted(self, argument)
        finally:
            BUSY.discard(ident)

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Enter again, below what is current where the consumer is now.

        Args:
            sent: what the consumer sent into the generator.
            thrown: what the consumer threw into it.
        """
        previous = CURRENT.get(None)
        if previous is not self:
            self.previous = previous if previous is not None else self.root
            CURRENT.set(self)
        if sent is not None or (thrown is not None and type(thrown) is not GeneratorExit):
            self._sent(sent, thrown)

    # --- called by stand-ins for awaitables and iterators ------------------------------------------------------------

    def ended(self, value: Any) -> Any:
        """Leave the crossing, end it with a complete value, and return what the consumer receives."""
        self._leave()
        return value if self.done else self._end(value)

    # --- private -----------------------------------------------------------------------------------------------------

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
        """Make `previous` current again.

        Do nothing if this crossing isn't open in this context: it was left before, or closed from elsewhere.
        """
        current = CURRENT.get(None)
        while current is not self:
            if type(current) is not Crossing:
                return
            current = current.previous
        CURRENT.set(self.previous)


def is_inside() -> bool:
    """Return whether the running code is inside a crossing whose body would not run on replay."""
    current = CURRENT.get(None)
    crossing: Enclosing | None = current
    if current is not None and type(current) is not Crossing:
        crossing = current.parent
    while type(crossing) is Crossing and crossing.boundary.runs:
        crossing = crossing.parent
    return crossing is not None
