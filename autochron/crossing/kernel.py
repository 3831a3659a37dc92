"""The kernel: it turns the entering and leaving of woven code into crossings with a name, an order, a lane and a parent.

It knows neither recorder nor director; both are `CrossingHandler`s. Everything here is on the program's own path: an
`enter` and a `leave` are a few attribute reads, one context variable and one call of the handler each.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autochron._runtime import unpatched
from autochron._runtime.frame_locals import locals_of
from autochron._runtime.lazy import late_modules
from autochron._runtime.signals import is_interruption
from autochron._runtime.unpatched import getframe
from autochron.crossing.crossing import BUSY, Crossing
from autochron.crossing.lanes import CURRENT, HELD, MAIN, PAUSE, Remote, Root, stray_root
from autochron.errors import AutochronError, RuleError
from autochron.model import BoundaryRule
from autochron.weaving.gate import Point

if TYPE_CHECKING:
    from autochron.crossing import arguments as call_arguments
    from autochron.crossing import boundaries, streams, tokens
    from autochron.ports import CrossingHandler
    from autochron.rules import names
    from autochron.rules.compiled_boundary import CompiledBoundary
else:
    late_modules(
        globals(),
        "autochron.crossing.boundaries",
        "autochron.crossing.streams",
        "autochron.crossing.tokens",
        "autochron.rules.names",
        call_arguments="autochron.crossing.arguments",
    )

get_ident = unpatched.get_ident


def tell(message: str) -> None:
    """Report to the session that is under way, if one is, what is wrong on our side."""
    current = CURRENT.get(None)
    kernel = None if current is None else current.root.kernel
    if kernel is not None:
        kernel.problem(message)


_BETWEEN = ("autochron.", "wrapt.")
"""Whose frames stand between a woven callable and its caller."""


def _pass_nothing(_rule: BoundaryRule, _value: Any, _passer: Point) -> None:
    """Leave what is passed as it is."""


class Kernel:
    """The handler of woven code."""

    def __init__(
        self,
        handler: CrossingHandler[Crossing[Any]],
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
            self.handler, point, boundary, boundary.rule, name, occurrence(), seq, current, root,
            root.parent if current is root else current, within, boundary.collapses,
        )  # fmt: skip
        BUSY.add(ident)
        try:
            serving = self.handler.begin(crossing, arguments)
        finally:
            BUSY.discard(ident)
        if serving is not None:
            return serving
        CURRENT.set(crossing)
        return crossing if point.function == "sync" else tokens.SuspendableToken(crossing)

    def _fitting(self, point: Point, arguments: tuple[Any, ...]) -> CompiledBoundary | None:
        """Return the first rule that fits a call. What goes wrong in that is told, and never raised in the program."""
        try:
            compiled = point.compiled
            if compiled is None:
                compiled = point.compiled = boundaries.compile_rules(point)
            for boundary in compiled:
                if boundary.fits is None or boundary.fits(arguments):
                    if boundary.passed is not None:
                        for value in boundary.passed(arguments):
                            self.pass_in(boundary.rule, value, point)
                        return None
                    return boundary
        except Exception as error:
            if is_interruption(error):
                raise
            what = f"{type(error).__name__}: {error}"
            self.problem(
                f"{point.module}:{point.qualname} was called and is no crossing: {what} (not-crossed)"
            )
        return None

    def _form_name(self, boundary: CompiledBoundary, point: Point, arguments: tuple[Any, ...]) -> str:
        """Form a name that needs something of the call; the function's own name where it can't be formed."""
        frame = getframe(2)  # the woven function's own, or of what calls one that has no code
        caller = frame.f_back
        while caller is not None and str(caller.f_globals.get("__name__")).startswith(_BETWEEN):
            caller = caller.f_back
        facts = names.NameFacts(
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
