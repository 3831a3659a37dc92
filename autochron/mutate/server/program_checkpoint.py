"""Replay a program up to the first call of a swapped-in function, and go on from there in a fork for each request.

Up to that call nothing of a mutant has run, provided that its module is imported with the call, as the modules of swaps
are. So all replays with the same plan are alike until then. A fork can go on there only if it inherits all of the program's
state; `fork_obstacles` finds out whether it would. A file that is changed between two replays is noticed if it was read or
listed before the cut, and not if only its state was asked for.

The process that listens for requests starts a checkpoint process for requests that differ only in what `key_of` leaves out,
and passes them on to it. After a while another one takes its place, because the program must not see how long it has waited.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

import autochron
from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.crossing.pausing import paused
from autochron.crossing.processes import VARIABLE
from autochron.effects.undisturbed import undisturbed
from autochron.envelope.bodies import restore_body
from autochron.instrument import source_overlay
from autochron.instrument.swap import Swap
from autochron.mutate.protocol import EDGE_INPUTS_REQUEST
from autochron.mutate.server.fork_obstacles import ForkObstacles, restore_random
from autochron.mutate.server.libraries import is_in_library
from autochron.mutate.server.replay_calls import ReplayCall, fork_of_ours, reap, run_to_end
from autochron.program.running_replay import RunningReplay
from autochron.replaying.environment import PLAN, REPORT, SCRATCH
from autochron.workers.ending import kill_child
from autochron.workers.fork import fork_process
from autochron.workers.prepared import PreparedReplay
from autochron.workers.silence import flush

_MAX_AGE = 3_000_000_000
"""Nanoseconds that a checkpoint process is used for, from when it has reached the cut. A library may have read a clock."""

_MAX_AGE_OF_CLOCKS = 500_000_000
"""The same for a program that has read a clock itself, which may see how long it has waited."""

_OLD = 2 / 3
"""The share of that time after which the next one is started, so that no request has to wait for it."""

_OF_THE_PROCESS = frozenset({
    *(f"os.{name}" for name in ("getpid", "getppid", "getpgid", "getpgrp", "getsid", "times")),
    *(f"time.{name}" for name in ("process_time", "process_time_ns", "thread_time", "thread_time_ns")),
})  # fmt: skip
"""Calls whose results are others in a fork."""

_KERNEL = ("/dev/", "/proc/", "/sys/")

_INHERITED = (VARIABLE, EDGE_INPUTS_REQUEST, source_overlay.VARIABLE)
"""Variables of ours that the processes of the program need, and that each fork has values of its own for."""

_ENVIRONMENTS = {"subprocess.Popen": 3, "os.posix_spawn": 2, "os.spawn": 3, "os.exec": 2}
"""Audit events of processes that start, and the index of the environment in their arguments."""

_OURS = os.path.realpath(os.path.dirname(autochron.__file__)) + os.sep
"""Autochron's own folder, which need not be among those of libraries."""

_OF_ONE = frozenset({REPORT, PLAN, SCRATCH, EDGE_INPUTS_REQUEST, source_overlay.VARIABLE})
"""Environment variables with other values in each request."""


class CutReport(Struct, frozen=True):
    """What a checkpoint process reports when it has reached the cut, or can't stop there.

    Attributes:
        obstacle: why it can't go on in forks; empty if it can.
        files: the real paths of the files and folders that were read before, without those of libraries, each with its size
            in bytes, and the times of its last change and of that of its attributes in nanoseconds since 1970.
        has_read_clock: whether the program has read a clock.
    """

    obstacle: str = ""
    files: dict[str, tuple[int, ...]] = {}
    has_read_clock: bool = False


def key_of(request: PreparedReplay) -> bytes:
    """Return a digest of what decides how a replay runs up to the cut.

    Raises:
        OSError: the trace or the plan can't be read.
    """
    alike = msgspec.structs.replace(request, trace="", environment={}, limits={})
    changing = sorted(_common(request.environment).items()), sorted(request.limits.items())
    digest = blake2b(msgspec.json.encode((alike, changing)), digest_size=16)
    for path in (request.trace, request.environment.get(PLAN, "")):
        with open(path, "rb") as file:
            digest.update(blake2b(file.read()).digest())
    return digest.digest()


def _common(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with placeholders for what differs in each request."""
    return {name: "{}" if name in _OF_ONE else value for name, value in environment.items()}


def changed_files(request: PreparedReplay) -> set[str]:
    """Return the real paths of the files that a request replaces the text of."""
    return set(
        msgspec.json.decode(request.environment.get(source_overlay.VARIABLE, "{}"), type=dict[str, str])
    )


class CheckpointReplay:
    """A checkpoint process, as the process sees it that has started it.

    Attributes:
        channel: the socket that requests are passed on by.
        waiting: requests that wait for it to reach the cut.
        reached: what it has reported; None until then.
    """

    def __init__(self, request: PreparedReplay) -> None:
        """Make one that is not started, for requests that are replayed like this one up to the cut."""
        self.channel, self._theirs = socket.socketpair()
        self.waiting: list[ReplayCall] = []
        self.reached: CutReport | None = None
        self._process = 0
        self._request = request
        self._reached_at = 0

    def start(self, folder: str, close_ours: Callable[[], None]) -> None:
        """Fork, and replay in the fork up to the cut.

        Args:
            folder: an empty folder for files of the fork's own.
            close_ours: closes in the fork what it must not keep open.
        """
        self._process = fork_process()
        if self._process == 0:
            try:
                close_ours()
                _Cut(self._theirs).replay(self._request, folder)
            finally:
                unpatched.immediate_exit(1)
        self._theirs.close()

    @property
    def is_started(self) -> bool:
        """Whether `start` was called."""
        return self._process != 0

    @property
    def is_expired(self) -> bool:
        """Whether it has waited at the cut for too long to be used."""
        return self._age > self._max_age

    @property
    def is_old(self) -> bool:
        """Whether another one should be started, which takes its place."""
        return self._age > _OLD * self._max_age

    @property
    def _max_age(self) -> int:
        has_read_clock = self.reached is not None and self.reached.has_read_clock
        return _MAX_AGE_OF_CLOCKS if has_read_clock else _MAX_AGE

    @property
    def _age(self) -> int:
        """Nanoseconds that it has waited at the cut."""
        return 0 if self.reached is None else unpatched.perf_counter_ns() - self._reached_at

    def receive(self) -> CutReport:
        """Read what it reports, once there is something to read, and return that."""
        line = bytearray()
        while not line.endswith(b"\n"):
            part = self.channel.recv(1 << 16)
            if not part:
                break
            line += part
        try:
            self.reached = msgspec.json.decode(bytes(line), type=CutReport)
        except msgspec.DecodeError:
            self.reached = CutReport("its process ended before the call")
        self._reached_at = unpatched.perf_counter_ns()
        return self.reached

    def why_not(self, call: ReplayCall) -> str:
        """Return why a request can't be replayed from the cut; empty if it can."""
        assert self.reached is not None  # noqa: S101 - the caller has waited for it
        if self.reached.obstacle:
            return self.reached.obstacle
        if not changed_files(call.request).isdisjoint(self.reached.files):
            return "the agent has read what is mutated before the call"
        if any(_state_of(file) != state for file, state in self.reached.files.items()):
            return "a file that the agent has read before the call was changed"
        return ""

    def close(self) -> None:
        """Close what this process and its forks have open of it. At the cut, it ends then, when its forks have ended."""
        self.channel.close()

    def kill(self) -> None:
        """Kill it on its way to the cut. What it has started is killed with the group of the process that has started it."""
        self.close()
        kill_child(self._process, with_group=False)


class _Cut:
    """The checkpoint, as the process that stops there and its forks see it."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._running: RunningReplay | None = None
        self._process = unpatched.getpid()
        self._obstacles: ForkObstacles | None = None

    def replay(self, request: PreparedReplay, folder: str) -> None:
        """Replay in this process, and end it. A fork that goes on from the cut ends here, too."""
        for descriptor, name in enumerate(("stdout", "stderr"), 1):
            output = os.memfd_create(name)
            os.dup2(output, descriptor)
            os.close(output)
        environment = _common(request.environment) | {
            PLAN: request.environment[PLAN],
            REPORT: os.path.join(folder, "report.json"),
            SCRATCH: os.path.join(folder, "scratch"),
        }
        run_to_end(request, environment, before_run=self._watch, at_end=self._not_reached)

    def _watch(self, running: RunningReplay) -> None:
        """Prepare to stop at the first call of a swapped-in function; the program is about to run."""
        self._running = running
        replaying = running.replaying
        obstacles = self._obstacles = ForkObstacles(replaying.activation.project, "the agent", (1, 2))
        footer = replaying.record.footer
        if footer is not None and restore_body(footer.stdin):
            obstacles.noted = "standard input is served, of which each fork would take a part"
        obstacles.begin()
        for swap in replaying.swaps:
            swap.before_call = partial(self._stop, swap)

    def _not_reached(self) -> None:
        """Report that the program has ended without a call. In a fork that has gone on, there is nothing to report."""
        if unpatched.getpid() == self._process:
            self._report(CutReport("the agent does not call what is swapped in"))

    def _report(self, reached: CutReport) -> None:
        self._channel.sendall(msgspec.json.encode(reached) + b"\n")

    def _stop(self, swap: Swap) -> None:
        """Stop here, and fork for each request; return only in a fork, which goes on with the program.

        Ends this process where a fork would not inherit all of the program's state, and when there are no more requests.
        """
        running, self._running = self._running, None
        if running is None or unpatched.getpid() != self._process:
            return
        try:
            with paused(), undisturbed():  # what is done here is not the program's
                self._fork_for_requests(running, swap)
        except BaseException as error:
            with suppress(Exception):  # after the fork, the channel is closed
                self._report(CutReport(f"it can't be forked there ({type(error).__name__}: {error})"))
            sys.__excepthook__(
                *sys.exc_info()
            )  # not the program's, which would take it for one of its own errors
            flush()
            unpatched.immediate_exit(1)

    def _fork_for_requests(self, running: RunningReplay, swap: Swap) -> None:
        """Do what `_stop` says."""
        obstacles = self._obstacles
        assert obstacles is not None  # noqa: S101 - set with the replay
        running.pause()
        findings = running.replaying.findings()
        asked = next((each.call for each in findings if each.call in _OF_THE_PROCESS), None)
        obstacle = obstacles.end() or (f"the agent has asked for {asked}()" if asked else "")
        if obstacle:
            self._report(CutReport(" ".join(obstacle.split())))
        else:
            random_state = obstacles.changed_random_state()
            swap.look_up()
            has_read_clock = any(each.category == "clock" for each in findings)
            self._report(CutReport("", _states_of(obstacles.opened | _module_files()), has_read_clock))
            while (call := self._received()) is not None:
                if fork_of_ours() == 0:
                    if not call.fork():
                        unpatched.immediate_exit(0)
                    self._go_on(call, running)
                    restore_random(random_state)
                    return
                call.close()
                reap()
        running.replaying.put_away()
        unpatched.immediate_exit(0)

    def _received(self) -> ReplayCall | None:
        try:
            return ReplayCall.received(self._channel)
        except (EOFError, OSError, msgspec.MsgspecError):
            return None

    def _go_on(self, call: ReplayCall, running: RunningReplay) -> None:
        """Make this fork the process of a request."""
        self._channel.close()
        call.enter(keeps_output=True)
        environment = call.request.environment
        before = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        if source_overlay.VARIABLE in environment:
            source_overlay.replace_by(environment[source_overlay.VARIABLE])
        for name in (EDGE_INPUTS_REQUEST, source_overlay.VARIABLE):
            if name in os.environ:  # the program may have removed it
                os.environ[name] = environment[name]
        running.take_over(environment[REPORT], environment[SCRATCH])
        _renew_copies(before)


def _renew_copies(before: Mapping[str, str]) -> None:
    """Have the processes that the program starts get our variables of this fork, also with a copy of its environment.

    Args:
        before: what these variables were at the cut.
    """
    renewed = {name: (value, os.environ[name]) for name, value in before.items() if name in os.environ}

    def on_audit_event(event: str, arguments: tuple[Any, ...]) -> None:
        environment = arguments[_ENVIRONMENTS[event]] if event in _ENVIRONMENTS else None
        if isinstance(environment, dict):
            for name, (old, new) in renewed.items():
                if environment.get(name) == old:
                    environment[name] = new

    sys.addaudithook(on_audit_event)


def _module_files() -> set[str]:
    """Return the files of all loaded modules; some were loaded before the program began."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {file for file in files if isinstance(file, str)}


def _states_of(files: set[str]) -> dict[str, tuple[int, ...]]:
    """Return the files of a `CutReport`; the kernel's, which change all the time, are left out, too."""
    real = {os.path.realpath(file) for file in files if not file.startswith(_KERNEL)}
    return {
        file: _state_of(file) for file in sorted(real) if not (is_in_library(file) or file.startswith(_OURS))
    }


def _state_of(file: str) -> tuple[int, ...]:
    """Return what a `CutReport` says of a file; nothing if there is none."""
    try:
        status = os.stat(file)
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
