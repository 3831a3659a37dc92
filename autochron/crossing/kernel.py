"""The kernel: it turns the entering and leaving of woven code into crossings with a name, an order, a lane and a parent.

It knows neither recorder nor director; both are `CrossingHandler`s. Everything here is on the program's own path: an
`enter` and a `leave` are a few attribute reads, one context variable and one call of the handler each.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from autochron._runtime import unpatched
from autochron._runtime.frame_locals import locals_of
from autochron._runtime.lazy import late_modules
from autochron._runtime.signals import is_interruption
from autochron._runtime.unpatched import getframe
from autochron.crossing.lanes import CURRENT, HELD, MAIN, PAUSE, Remote, Root, stray_root
from autochron.errors import AutochronError, RuleError
from autochron.model import BoundaryRule, Form, Http
from autochron.weaving.gate import Point

if TYPE_CHECKING:
    from autochron.crossing import adapters, conditions, streams
    from autochron.crossing import arguments as call_arguments
    from autochron.crossing.arguments import Reader
    from autochron.crossing.conditions import Condition
    from autochron.ports import CrossingHandler
    from autochron.rules import names
else:
    late_modules(
        globals(),
        "autochron.crossing.adapters",
        "autochron.crossing.conditions",
        "autochron.crossing.streams",
        "autochron.rules.names",
        call_arguments="autochron.crossing.arguments",
    )

get_ident = unpatched.get_ident

BUSY: set[int] = set()
"""Threads in which a handler is at work: what it calls of the program, such as a property, crosses nothing."""


class Crossing(Struct, eq=False):
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
        record: what the handler keeps with it.
    """

    handler: CrossingHandler
    point: Point
    boundary: _Boundary
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
    record: Any = None
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


class SuspendableToken:
    """The token of a crossing whose code can be suspended: a generator, a coroutine, or the stand-in for one.

    Suspended code may be dropped and never go on. The handler knows each open crossing until the run ends; so what it keeps
    of the program's objects must not be reachable from there, or a generator in a cycle (`self.items = self.read()`) would
    never be collected. This token owns those objects, and the suspended code owns the token: the handler has them only
    while it is called.
    """

    __slots__ = ("_objects", "crossing")

    def __init__(self, crossing: Crossing) -> None:
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


def is_inside() -> bool:
    """Return whether a crossing is open around what runs now that a replay would not run."""
    current = CURRENT.get(None)
    crossing = current if current is None or type(current) is Crossing else current.parent
    while type(crossing) is Crossing and crossing.boundary.runs:
        crossing = crossing.parent
    return crossing is not None


def tell(message: str) -> None:
    """Report to the session that is under way, if one is, what is wrong on our side."""
    current = CURRENT.get(None)
    kernel = None if current is None else current.root.kernel
    if kernel is not None:
        kernel.problem(message)


_BETWEEN = ("autochron.", "wrapt.")
"""Whose frames stand between a woven callable and its caller."""


class _Boundary:
    """One rule at one point, compiled."""

    __slots__ = (
        "_models", "collapses", "fits", "inputs", "is_tool", "name", "outcome", "passed", "rule",
        "runs", "template",
    )  # fmt: skip

    def __init__(self, rule: BoundaryRule, point: Point) -> None:
        self.rule = rule
        self.fits: Condition | None = (
            conditions.http_condition(rule.selector, point)
            if isinstance(rule.selector, Http)
            else conditions.condition(rule.when, point)
        )
        self.template = names.name_template(rule.name)
        called = point.called
        self.name = self.template.fixed(
            called.rpartition(".")[2], called, point.module, point.captured.get(rule.id, {})
        )
        self.collapses = rule.pack is not None and rule.kind == "model"
        self.is_tool = rule.kind != "model"
        self.outcome = rule.outcome if point.replaced else None
        self.runs = rule.observe or self.outcome is not None
        """Whether the body runs on a replay, too, whatever is live."""
        self.passed: Reader | None = None
        """Returns what is woven instead of the call; None where the call is the crossing."""
        if rule.argument is not None:
            self.passed = call_arguments.reader(rule.argument, point)
            # `enter` passes over conditions where there are none, and these calls are not to be crossings.
            self.fits = self.fits or _always
        paths = [path.removeprefix("input.") for path in rule.meta.model if path.startswith("input.")]
        self.inputs: Any = None
        """How the handler reads a call's input; opaque to the kernel."""
        self._models = [call_arguments.reader(path, point) for path in paths]

    def model(self, arguments: tuple[Any, ...]) -> str | None:
        """Return the model that a call names in its arguments."""
        for read in self._models:
            for value in read(arguments):
                if issubclass(type(value), str):  # `isinstance` would evaluate a lazy object
                    model: str = value
                    return model
        return None


def _always(_arguments: tuple[Any, ...]) -> bool:
    return True


def _pass_nothing(_rule: BoundaryRule, _value: Any, _passer: Point) -> None:
    """Leave what is passed as it is."""


class Kernel:
    """The handler of woven code."""

    def __init__(
        self,
        handler: CrossingHandler,
        problem: Callable[[str], None],
        *,
        lane: str = MAIN,
        parent: Remote | None = None,
        numbers: Callable[[], int] | None = None,
    ) -> None:
        self.base = Root(self, lane, parent)
        """The ground of the lane that this process began in."""
        self.handler = handler
        self.problem = problem
        """Told in one line of what is wrong with a rule; never raises."""
        self.transport: Callable[[Any, Point, tuple[Any, ...]], Any] | None = None
        """Called for the points of HTTP clients with the innermost open crossing."""
        self.pass_in: Callable[[BoundaryRule, Any, Point], None] = _pass_nothing
        """Called with what is passed as the argument that a rule means."""
        self.mask_name: Callable[[str], str] = str
        """Called with a name that a call's values form: recording and replay go by the masked one."""
        self._next = numbers or itertools.count(1).__next__
        self._occurrences: dict[str, Callable[[], int]] = {}

    def enter(self, point: Point, arguments: tuple[Any, ...]) -> Any:
        """Begin a crossing, or tell that the call is none."""
        ident = get_ident()
        if ident in BUSY:
            return None
        current = CURRENT.get(None)
        if current is None or HELD.root is not None or (root := current.root).kernel is not self:
            current = self.current()
            if current is PAUSE:
                return None
            root = current.root
        if point.step:
            return streams.enter(point, arguments)
        if point.transport and self.transport is not None:
            around = current.parent if current is root else current
            request = None if around is None else self.transport(around, point, arguments)
            if request is not None:
                return request
        compiled = point.compiled
        # Most points have one rule that fits every call.
        boundary = compiled[0] if compiled and compiled[0].fits is None else self._fitting(point, arguments)
        if boundary is None or (boundary.collapses and current.collapses):
            return None
        name = boundary.name
        if name is None:
            name = self._form_name(boundary, point, arguments)
        occurrence = self._occurrences.get(name)
        if occurrence is None:
            occurrence = self._occurrences.setdefault(name, itertools.count(1).__next__)
        try:
            seq = self._next()
        except AutochronError as error:  # a child process that gets no numbers
            self.problem(f"{name} was called and is no crossing: {error} (not-crossed)")
            return None
        counts = current.counts
        within = counts[name] = counts.get(name, 0) + 1
        root.begun = seq
        crossing = Crossing(
            self.handler,
            point,
            boundary,
            boundary.rule,
            name,
            occurrence(),
            seq,
            current,
            root,
            root.parent if current is root else current,
            within,
            boundary.collapses,
        )
        BUSY.add(ident)
        try:
            serving = self.handler.begin(crossing, arguments)
        finally:
            BUSY.discard(ident)
        if serving is not None:
            return serving
        CURRENT.set(crossing)
        return crossing if point.function == "sync" else SuspendableToken(crossing)

    def _fitting(self, point: Point, arguments: tuple[Any, ...]) -> _Boundary | None:
        """Return the first rule that fits a call. What goes wrong in that is told, and never raised in the program."""
        try:
            boundaries = point.compiled
            if boundaries is None:
                boundaries = point.compiled = tuple([_Boundary(rule, point) for rule in point.rules])
            for boundary in boundaries:
                if boundary.fits is None or boundary.fits(arguments):
                    if boundary.passed is not None:
                        for value in boundary.passed(arguments):
                            self.pass_in(boundary.rule, value, point)
                        return None
                    found: _Boundary = boundary
                    return found
        except Exception as error:
            if is_interruption(error):
                raise
            what = f"{type(error).__name__}: {error}"
            self.problem(
                f"{point.module}:{point.qualname} was called and is no crossing: {what} (not-crossed)"
            )
        return None

    def _form_name(self, boundary: _Boundary, point: Point, arguments: tuple[Any, ...]) -> str:
        """Form a name that needs something of the call; the function's own name where it can't be formed."""
        frame = getframe(2)  # the woven function's own, or of what calls one that has no code
        caller = frame.f_back
        while caller is not None and str(caller.f_globals.get("__name__")).startswith(_BETWEEN):
            caller = caller.f_back
        facts = names.CallFacts(
            name=point.called.rpartition(".")[2],
            qualname=point.called,
            module=point.module,
            model=boundary.model(arguments),
            caller=None if caller is None else caller.f_code.co_qualname,
            closure={
                name: held for name, held in locals_of(frame).items() if name in frame.f_code.co_freevars
            },
        )
        try:
            captured = point.captured.get(boundary.rule.id, {})
            return self.mask_name(
                boundary.template.form(call_arguments.bound(point, arguments), facts, captured)
            )
        except Exception as error:  # also a property of the program's own that raises
            if is_interruption(error):
                raise
            self.problem(
                str(error) if isinstance(error, RuleError) else f"{point!r}: {type(error).__name__}: {error}"
            )
            return facts.name

    def ground(self) -> Root:
        """Return the lane of a thread that no hook knows."""
        root = stray_root(self.base)
        CURRENT.set(root)
        return root

    def current(self) -> Any:
        """Return the innermost open crossing, or the lane's root."""
        current = CURRENT.get(None)
        if current is PAUSE:
            return current
        if current is None or current.root.kernel is not self:
            return self.ground()
        held = HELD.root
        if held is not None and held.kernel is self and not current.root.is_under(held):
            # A context that was copied in another thread: what runs in it here is a lane of its own all the same.
            CURRENT.set(held)
            return held
        return current
