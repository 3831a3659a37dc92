"""A session: one recording or one replay, from switching the gate on to the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autochron.crossing import lane_hooks, processes
from autochron.crossing.crossing import BUSY, is_inside
from autochron.crossing.kernel import Kernel
from autochron.crossing.lanes import CURRENT, HELD, MAIN, Remote
from autochron.envelope import types
from autochron.instrument.activation import Activation
from autochron.isolation import network
from autochron.model import Connection
from autochron.project import Project, line_of_project
from autochron.redaction.redactor import Redactor
from autochron.weaving import gate

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.crossing.kernels import Kernels
    from autochron.instrument.swap import Swapping
    from autochron.instrument.watching import Watching
    from autochron.ports import CrossingHandler, ModelListener
    from autochron.recording.declared_tools import DeclaredTools
    from autochron.recording.model_requests import ModelRequests
    from autochron.session.children import Children


def place_in(project: Project) -> str:
    """Return the project's line that is running, or `?` if there is none."""
    return line_of_project(project, 3) or "?"


class Problems(list[str]):
    """The problems on our side, each once.

    A class of its own: whoever gets its method `note` does not keep the session alive, so a session is freed as soon
    as nobody needs it.
    """

    __slots__ = ("_mask",)

    def __init__(self, mask: Callable[[str], str]) -> None:
        super().__init__()
        self._mask = mask

    def note(self, message: str) -> None:
        """Note a problem, in one line. The message is masked, for it may quote a value of the program."""
        message = self._mask(message)
        if message not in self:
            self.append(message)


class Session(ABC):
    """What recording and replaying share: the kernel in force, lanes, and the watch over the network."""

    def __init__(self, activation: Activation, redactor: Redactor | None = None) -> None:
        self.activation = activation
        self.redactor = redactor or Redactor.of(activation.rules)
        self.problems = Problems(self.redactor.mask_text)
        self.problem = self.problems.note
        self.connections: dict[Connection, None] = {}
        self.kernel: Kernel
        self.watched: frozenset[str] = frozenset()
        """Audit events to listen to besides those of connections and child processes."""
        self.children: Children | None = None
        """Hands child processes their contexts; None if they don't join."""
        self._token: Any = None
        self.listener: ModelListener | None = None
        """Knows in a replay which calls of found tools are under way; None if the record has no found tools."""
        self.watching: Watching | None = None
        """Looks for calls that escape the record; None if nobody asked for that."""

    def watch(self, *, probes: bool = False) -> None:
        """Look for calls that escape the record; with `probes` also at the values of the project's own expressions."""
        from autochron.instrument.watching import Watching  # lazy: it may be switched off

        self.watching = Watching(self.activation, self.problem, self.is_inside)
        self.watching.begin()
        if probes:
            self.watching.probe()

    def start(
        self,
        handler: CrossingHandler[Crossing[Any]],
        transport: Callable[..., Any],
        *,
        lane: str = MAIN,
        parent: Remote | None = None,
        numbers: Callable[[], int] | None = None,
    ) -> None:
        """Put a handler in force.

        Args:
            handler: the recorder or the director.
            transport: begins a request of an HTTP client inside a model crossing.
            lane: lane in which this process begins.
            parent: the crossing in which another process started this one.
            numbers: returns the next sequence number; None to count from 1.
        """
        types.set_root(self.activation.rules.root)
        self.activation.hold()
        self.kernel = Kernel(handler, self.problem, lane=lane, parent=parent, numbers=numbers)
        self.kernel.mask_name = self.redactor.mask_name
        self.kernel.transport = transport
        self.kernel.pass_in = self.activation.planner.passing.weave
        if self.listener is not None:
            self.kernel.is_called = self.listener.is_called
        self._token = CURRENT.set(self.kernel.base)
        handler_of_all = self.over(self.kernel)
        lane_hooks.carry(handler_of_all.current)
        network.watch(self.audit_listener(), self.on_exec, self.activation.runners.note, more=self.watched)
        if self.children is not None:
            self.children.begin()
        gate.switch_on(handler_of_all)

    def begin_again(
        self,
        handler: CrossingHandler[Crossing[Any]],
        transport: Callable[..., Any],
        *,
        lane: str,
        parent: Remote | None,
        numbers: Callable[[], int] | None = None,
    ) -> None:
        """Put a handler in force in a forked process.

        What is open in crossings and contexts belongs to the parent, so it is dropped.

        Args:
            handler: the recorder or the director.
            transport: begins a request of an HTTP client inside a model crossing.
            lane: lane of the forked process.
            parent: the crossing in which it was forked.
            numbers: returns the next sequence number; None to count from 1.
        """
        BUSY.clear()
        HELD.root = None
        self.kernel = Kernel(handler, self.problem, lane=lane, parent=parent, numbers=numbers)
        self.kernel.mask_name = self.redactor.mask_name
        self.kernel.transport = transport
        self.kernel.pass_in = self.activation.planner.passing.weave
        if self.listener is not None:
            self.kernel.is_called = self.listener.is_called
        self._token = None
        CURRENT.set(self.kernel.base)
        handler_of_all = self.over(self.kernel)
        lane_hooks.carry(handler_of_all.current)
        gate.switch_on(handler_of_all)

    def over(self, kernel: Kernel) -> Kernel | Kernels | Swapping:
        """Return the handler that woven code calls: the kernel, or a wrapper of it for traced calls or swaps."""
        return kernel

    def listen(self, requests: ModelRequests) -> None:
        """Let the finder of tools listen to the requests to models, unless the rules switch it off."""
        if not self.activation.rules.find:
            return
        activation, problem = self.activation, self.problem

        def make(declared: DeclaredTools) -> ModelListener:
            from autochron.finding.finder import (
                ToolFinder,
            )  # lazy: with the first request that declares tools without a rule

            return ToolFinder(activation, problem, declared)

        requests.listen(make, activation.ruled_names)

    @property
    def is_child(self) -> bool:
        """Whether this process is not the first one of the trace."""
        return self.kernel.base.lane != MAIN

    def step_aside(self) -> None:
        """Stop, in a child process that begins a session of its own."""
        self.leave_parent()

    def leave_parent(self) -> None:
        """Stop in a forked process that is about to be replaced, or that gets no lane.

        Otherwise its crossings would take the places of the parent's.
        """
        gate.switch_off()
        network.watch(None, None)
        lane_hooks.carry(None)
        if self.children is not None:
            processes.attend(None)

    def stop(self) -> None:
        """Take the handler out of force."""
        gate.switch_off()
        network.watch(None, None)
        lane_hooks.carry(None)
        if self.children is not None:
            self.children.end()
        self.kernel.base.kernel = None  # breaks the reference cycle, so that both are freed at once
        if self._token is None:
            CURRENT.set(None)
            return
        try:
            CURRENT.reset(self._token)
        except (ValueError, RuntimeError):  # ended in another context than it began in
            CURRENT.set(None)
        self._token = None

    @abstractmethod
    def audit_listener(self) -> Callable[[str, tuple[Any, ...]], None]:
        """Return the listener to audit events."""

    @abstractmethod
    def on_exec(self) -> None:
        """Prepare for the process to be replaced."""

    def is_inside(self) -> bool:
        """Return whether the running code is inside a crossing whose body a replay would not run."""
        return is_inside()

    def is_live(self) -> bool:
        """Return whether the running code is live in a replay."""
        return False

    def live_of(self, crossing: Any) -> bool:
        """Return whether a crossing is live in a replay."""
        return False

    def place(self) -> str:
        """Return the project's line that is running."""
        return place_in(self.activation.project)
