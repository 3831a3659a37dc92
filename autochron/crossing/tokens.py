"""The token of a crossing whose code can be suspended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autochron.ports import OpenCrossing


class SuspendableToken:
    """The token of a crossing whose code can be suspended: a generator, a coroutine, or the stand-in for one.

    Suspended code may be dropped and never go on. The handler knows each open crossing until the run ends; so what it keeps
    of the program's objects must not be reachable from there, or a generator in a cycle (`self.items = self.read()`) would
    never be collected. This token owns those objects, and the suspended code owns the token: the handler has them only
    while it is called.
    """

    __slots__ = ("_objects", "crossing")

    def __init__(self, crossing: OpenCrossing) -> None:
        self.crossing = crossing
        self._objects = crossing.handler.detach(crossing)

    def attach(self) -> None:
        """Hand the objects back to the handler: the crossing is about to end."""
        objects, self._objects = self._objects, None
        if objects is not None:
            self.crossing.handler.attach(self.crossing, objects)

    def returned(self, value: Any) -> Any:
        """Leave; what the value is a promise of is followed."""
        self.attach()
        return self.crossing.returned(value)

    def ended(self, value: Any) -> Any:
        """End with a value that is there."""
        self.attach()
        return self.crossing.ended(value)

    def raised(self, error: BaseException) -> None:
        """Leave, with the error."""
        self.attach()
        self.crossing.raised(error)

    def yielded(self, item: Any) -> None:
        """Leave until `resumed`."""
        self.attach()
        crossing = self.crossing
        try:
            crossing.yielded(item)
        finally:
            if not crossing.done:
                self._objects = crossing.handler.detach(crossing)

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Enter again."""
        self.crossing.resumed(sent, thrown)

    def substituted(self, argument: Any) -> Any:
        """Return what the body gets for the argument that is the outcome."""
        return self.crossing.substituted(argument)
