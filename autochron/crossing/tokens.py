"""The token of a crossing whose code can be suspended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autochron.ports import OpenCrossing


class SuspendableToken:
    """The token of a crossing whose code can be suspended: a generator, a coroutine, or the stand-in for one.

    Suspended code may be dropped and never go on. The handler knows each open crossing until the run ends. If the
    program's objects were reachable from there, a generator in a cycle (`self.items = self.read()`) would never be
    collected. So this token owns what the handler keeps of these objects, and the suspended code owns the token. The
    handler has the objects only while it is called.
    """

    __slots__ = ("_objects", "crossing")

    def __init__(self, crossing: OpenCrossing) -> None:
        self.crossing = crossing
        self._objects = crossing.handler.detach(crossing)

    def attach(self) -> None:
        """Return the objects to the handler: the crossing is about to go on or to end."""
        objects, self._objects = self._objects, None
        if objects is not None:
            self.crossing.handler.attach(self.crossing, objects)

    def returned(self, value: Any) -> Any:
        """Leave the crossing, and follow a value that is not complete yet."""
        self.attach()
        return self.crossing.returned(value)

    def ended(self, value: Any) -> Any:
        """Leave the crossing, end it with a complete value, and return what the consumer receives."""
        self.attach()
        return self.crossing.ended(value)

    def raised(self, error: BaseException) -> None:
        """Leave the crossing, and end it with an error."""
        self.attach()
        self.crossing.raised(error)

    def yielded(self, item: Any) -> None:
        """Report an item, and leave until `resumed`."""
        self.attach()
        crossing = self.crossing
        try:
            crossing.yielded(item)
        finally:
            if not crossing.done:
                self._objects = crossing.handler.detach(crossing)

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Enter again, with what the consumer sent or threw in."""
        self.crossing.resumed(sent, thrown)

    def substituted(self, argument: Any) -> Any:
        """Return what the body receives for the argument that a rule's `outcome` names."""
        return self.crossing.substituted(argument)
