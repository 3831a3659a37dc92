"""The kernel: it makes crossings with a name, an order, a lane and a parent of the calls of woven code.

It knows neither recorder nor director: both are `CrossingHandler`s. Everything here runs inside the program's own
calls. An `enter` and a `leave` cost a few attribute reads, one context variable and one call of the handler each.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from autochron._runtime import unpatched
from autochron._runtime.frame_locals import locals_of
from autochron._runtime.lazy import late_modules
from autochron._runtime.signals import is_interruption
from autochron._runtime.unpatched import getframe
from autochron.crossing.crossing import BUSY, Crossing
from autochron.crossing.lanes import CURRENT, HELD, MAIN, PAUSE, LaneRoot, Remote, stray_root
from autochron.errors import AutochronError, RuleError
from autochron.model import BoundaryRule
from autochron.weaving.gate import Point

if TYPE_CHECKING:
    from autochron.crossing import arguments as call_arguments
    from autochron.crossing import boundaries, streams, tokens
    from autochron.ports import CrossingHandler, Enclosing, Serving, Token
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


def report_problem(message: str) -> None:
    """Report a fault of autochron's own to the session that is under way, if there is one."""
    current = CURRENT.get(None)
    kernel = None if current is None else current.root.kernel
    if kernel is not None:
        kernel.problem(message)


_BETWEEN = ("autochron.", "wrapt.")
"""Prefixes of the modules whose frames stand between a woven callable and its caller."""


def _leave_unwoven(_rule: BoundaryRule, _value: Any, _passer: Point) -> None:
    """Leave a passed callable as it is."""


def _never_called(_point: Point, _rule: BoundaryRule, _arguments: tuple[Any, ...], _current: Any) -> bool:
    """Return False: without a finder no found tool crosses."""
    return False


class TransportHandler(Protocol):
    """What the kernel calls for each request of an HTTP client: the recorder's or the director's `transport`."""

    def __call__(
        self, crossing: Enclosing, point: Point, arguments: tuple[Any, ...], /
    ) -> Token | Serving | None:
        """Begin a request; return None where it is to be treated as any other call.

        Args:
            crossing: the innermost open crossing, which may be one of another process.
            point: the woven method of the HTTP client.
            arguments: the bound arguments of the request.
        """


class Kernel:
    """The handler of woven code: it makes a crossing of each call that fits a rule."""

    def __init__(
        self,
        handler: CrossingHandler[Crossing[Any]],
        problem: Callable[[str], None],
        *,
        lane: str = MAIN,
        parent: Remote | None = None,
        numbers: Callable[[], int] | None = None,
    ) -> None:
        """Make a kernel for one session, or for a child process of one.

        Args:
            handler: the recorder or the director.
            problem: called with one line of text about a fault, such as a rule that can't be applied; never raises.
            lane: the lane that this process begins in.
            parent: the crossing of another process that encloses this one, if any.
            numbers: returns the next `seq`; by default this process counts for itself.
        """
        self.base = LaneRoot(self, lane, parent)
        """The root of the lane that this process began in."""
        self.handler = handler
        self.problem = problem
        """Reports a fault in one line of text; never raises."""
        self.transport: TransportHandler | None = None
        """Called at the points of HTTP clients with the innermost open crossing."""
        self.pass_in: Callable[[BoundaryRule, Any, Point], None] = _leave_unwoven
        """Called with the value of the argument that a rule's `argument` names."""
        self.is_called: Callable[[Point, BoundaryRule, tuple[Any, ...], Any], bool] = _never_called
        """Returns whether a call of a found tool's function answers a call that a model has asked for."""
        self.mask_name: Callable[[str], str] = str
        """Masks a name that was formed from a call's values: recording and replay both use the masked name."""
        self._next = numbers or itertools.count(1).__next__
        self._occurrences: dict[str, Callable[[], int]] = {}

    def enter(self, point: Point, arguments: tuple[Any, ...]) -> Any:
        """Begin a crossing.

        Args:
            point: the woven definition that is called.
            arguments: its bound arguments.

        Returns:
            A token (true) if the body is to run, a serving (false) if it must not run, None if the call is no crossing.
        """
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
            enclosing = current.parent if current is root else current
            if enclosing is not None and (request := self.transport(enclosing, point, arguments)) is not None:
                return request
        compiled = point.compiled
        # Most points have one rule that fits every call.
        boundary = (
            compiled[0] if compiled and compiled[0].fits is None else self._fitting(point, arguments, current)
        )
        if boundary is None or (boundary.collapses and current.collapses):
            return None
        if (name := boundary.name) is None:
            name = self._form_name(boundary, point, arguments)
        if (occurrence := self._occurrences.get(name)) is None:
            occurrence = self._occurrences.setdefault(name, itertools.count(1).__next__)
        try:
            seq = self._next()
        except AutochronError as error:  # a child process can't reach the process that numbers crossings
            self.problem(f"{name} was called and is no crossing: {error} (not-crossed)")
            return None
        counts = current.counts
        within = counts[name] = counts.get(name, 0) + 1
        root.begun = seq
        # Keywords for the last four fields only: keywords for all of them take 40 % longer.
        parent = root.parent if current is root else current
        crossing = Crossing(
            self.handler, point, boundary, boundary.rule, name, occurrence(), seq,
            previous=current, root=root, parent=parent, within=within,
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

    def _fitting(self, point: Point, arguments: tuple[Any, ...], current: Any) -> CompiledBoundary | None:
        """Return the first rule that fits a call. Errors of ours are reported as problems and never raised in the program."""
        try:
            compiled = point.compiled
            if compiled is None:
                compiled = point.compiled = boundaries.compile_rules(point)
            for boundary in compiled:
                if boundary.fits is None or boundary.fits(arguments):
                    if boundary.is_found and not self.is_called(point, boundary.rule, arguments, current):
                        continue
                    if boundary.passed is not None:
                        for value in boundary.passed(arguments):
                            self.pass_in(boundary.rule, value, point)
                        return None
                    return boundary
        except Exception as error:
            if is_interruption(error):
                raise
            self.problem(
                f"{point.module}:{point.qualname} was called and is no crossing: "
                f"{type(error).__name__}: {error} (not-crossed)"
            )
        if point.transport:
            point.transport.left_alone(point.parameters, arguments)
        return None

    def _form_name(self, boundary: CompiledBoundary, point: Point, arguments: tuple[Any, ...]) -> str:
        """Form a name that depends on the call; return the function's own name where that fails."""
        frame = getframe(2)  # the woven function's frame; for a callable without code, that of its wrapper
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
                name: value for name, value in locals_of(frame).items() if name in frame.f_code.co_freevars
            },
        )
        try:
            captured = point.captured.get(boundary.rule.id, {})
            return self.mask_name(
                boundary.template.form(call_arguments.bound(point, arguments), facts, captured)
            )
        except Exception as error:  # a property of the program may raise, too
            if is_interruption(error):
                raise
            self.problem(
                str(error) if isinstance(error, RuleError) else f"{point!r}: {type(error).__name__}: {error}"
            )
            return facts.name

    def _enter_stray_lane(self) -> LaneRoot:
        """Make the lane of a thread that no hook has seen current, and return its root."""
        root = stray_root(self.base)
        CURRENT.set(root)
        return root

    def take_back(self, name: str) -> None:
        """Forget the last crossing of a name: its number is used again."""
        used = self._occurrences[name]() - 2
        self._occurrences[name] = itertools.count(used + 1).__next__

    def current(self) -> Any:
        """Return the innermost open crossing, or the lane's root."""
        current = CURRENT.get(None)
        if current is PAUSE:
            return current
        if current is None or current.root.kernel is not self:
            return self._enter_stray_lane()
        thread_lane = HELD.root
        if thread_lane is not None and thread_lane.kernel is self and not current.root.is_under(thread_lane):
            # The context was copied in another thread. This thread has a lane of its own all the same.
            CURRENT.set(thread_lane)
            return thread_lane
        return current
