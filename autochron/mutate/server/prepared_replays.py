"""A process that has imported and woven what an agent needs, and forks a process for each replay that is asked for.

    python -m autochron.mutate.server.prepared_replays SOCKET LIFELINE

Tests that call `replay.run()` start the agent in a process of its own. An interpreter that starts, imports an SDK and
weaves it takes seconds, and is the same in each trial. So the first replay shows which libraries the agent imports. They
are imported here under the same rules, and each later replay is a fork, or goes on from where another one has reached the
cut (`program_checkpoint`). The project's own modules are imported in the fork: they may be what is mutated. SOCKET is the
path of a listening socket's file, LIFELINE a descriptor whose other end is closed when no more replays are wanted.
"""

from __future__ import annotations

import gc
import importlib
import select
import socket
import sys
import tempfile
from contextlib import suppress

import msgspec

from autochron._runtime import hashseed, unpatched
from autochron._runtime.unpatched import os
from autochron.mutate.server.libraries import is_library
from autochron.mutate.server.program_checkpoint import CheckpointReplay, key_of
from autochron.mutate.server.replay_calls import ReplayCall, options_of, reap, run_to_end
from autochron.program.replay import prepare_replay, seed_for
from autochron.workers.fork import fork_process

_BACKLOG = 16
"""Requests that wait at most."""

_EDGE_INPUTS = "autochron.mutate.server.rerun_inputs"
"""The module that tries edge inputs in the agent's process."""

_OWN = "autochron."
"""Prefix of our own modules, which may be installed outside of the folders of libraries."""

_MOST_KEYS = 32
"""Different replays that are stopped at the cut, at most. More of them would hardly be asked for twice."""

_TOO_MANY = "too many different replays were asked for"


class ReplayServer:
    """Answers the requests that come over a socket."""

    def __init__(self, listener: socket.socket, lifeline: int, folder: str) -> None:
        """Take the means of the server.

        Args:
            listener: the listening socket.
            lifeline: the descriptor that is closed when no more requests come.
            folder: where folders for checkpoint processes are made; whoever has made it removes it.
        """
        self._listener = listener
        self._folder = folder
        self._lifeline = lifeline
        self._is_prepared = False
        self._is_forkable = True
        """Whether forks of this process are as good as new ones: they lack the threads that a library has started."""
        self._obstacles: dict[bytes, str] = {}
        """Why a replay can't be stopped at the cut, by its key; empty where it can."""
        self._checkpoints: dict[bytes, CheckpointReplay] = {}
        self._next: dict[bytes, CheckpointReplay] = {}
        """Those that have been started to take the place of another one."""

    def serve(self) -> None:
        """Answer requests until the lifeline is closed."""
        while self._lifeline not in (ready := self._wait()):
            for key, checkpoint in [*self._checkpoints.items(), *self._next.items()]:
                if checkpoint.channel.fileno() in ready:
                    self._have_reached(key, checkpoint)
                elif any(call.fileno() in ready for call in checkpoint.waiting):
                    self._forget_gone(key, checkpoint, ready)
            for key, checkpoint in list(self._checkpoints.items()):
                if checkpoint.is_expired:
                    self._drop(key)
            if self._listener.fileno() in ready:
                self._accept()
            reap()

    def _wait(self) -> set[int]:
        """Wait for something to read, and return the descriptors."""
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(self._lifeline, select.POLLIN)
        for checkpoint in (*self._checkpoints.values(), *self._next.values()):
            if checkpoint.reached is None:
                poll.register(checkpoint.channel, select.POLLIN)
                for call in checkpoint.waiting:
                    poll.register(call, select.POLLIN)
        return {descriptor for descriptor, _ in poll.poll()}

    def _accept(self) -> None:
        """Read one request and have it answered; where no process can be like that of the request, close it."""
        connection, _ = self._listener.accept()
        try:
            call = ReplayCall.accepted(connection)
        except (EOFError, OSError, msgspec.MsgspecError):
            connection.close()
            return
        if not self._is_forkable or seed_for(call.request.hash_seed) not in {"", hashseed.current()}:
            call.close()
        elif not self._is_prepared:
            self._is_prepared, self._is_forkable = True, _serve_first(call)
            gc.collect()
        elif not call.request.from_cut:
            self._run_whole(call)
        else:
            self._run_from_cut(call)

    def _run_whole(self, call: ReplayCall) -> None:
        """Have a request answered by a replay from the beginning."""
        if fork_process() == 0:
            self._close_ours()
            if call.fork():
                call.enter()
                run_to_end(call.request, call.request.environment)
            unpatched.immediate_exit(0)
        call.close()

    def _run_from_cut(self, call: ReplayCall) -> None:
        """Have a request answered by a replay that goes on from the cut, if it can."""
        try:
            key = key_of(call.request)
        except OSError:
            call.close()
            return
        obstacle = self._obstacles.get(key, "" if len(self._obstacles) < _MOST_KEYS else _TOO_MANY)
        if obstacle:
            call.why_whole = obstacle
            self._run_whole(call)
            return
        self._obstacles[key] = ""
        if key not in self._checkpoints:
            started = self._next.pop(key) if key in self._next else CheckpointReplay(call.request)
            self._checkpoints[key] = started
        checkpoint = self._checkpoints[key]
        if checkpoint.reached is None:
            checkpoint.waiting.append(call)
            self._start(checkpoint)
            return
        self._pass_on(call, key, checkpoint)
        if checkpoint.is_old and key not in self._next:
            self._next[key] = CheckpointReplay(call.request)
            self._start(self._next[key])

    def _start(self, checkpoint: CheckpointReplay) -> None:
        """Start a checkpoint process, if that was not done. All requests that are open here belong to one of them."""
        if not checkpoint.is_started:
            checkpoint.start(tempfile.mkdtemp(dir=self._folder), self._close_ours)

    def _have_reached(self, key: bytes, checkpoint: CheckpointReplay) -> None:
        """Read what a checkpoint process reports, and have the requests answered that have waited for it."""
        report = checkpoint.receive()
        self._obstacles[key] = report.obstacle
        if self._next.get(key) is checkpoint:
            self._drop(key)
            self._checkpoints[key] = self._next.pop(key)
        while checkpoint.waiting:
            self._pass_on(checkpoint.waiting.pop(0), key, checkpoint)
        if report.obstacle:
            self._drop(key)

    def _forget_gone(self, key: bytes, checkpoint: CheckpointReplay, ready: set[int]) -> None:
        """Close the requests whose asking processes have gone; kill a checkpoint process that nobody waits for any more."""
        for call in [call for call in checkpoint.waiting if call.fileno() in ready]:
            checkpoint.waiting.remove(call)
            call.close()
        if not checkpoint.waiting:
            self._obstacles[key] = "the agent takes too long to come to the call"
            self._checkpoints.pop(key).kill()

    def _drop(self, key: bytes) -> None:
        """Have the checkpoint process of a key end, if there is one."""
        checkpoint = self._checkpoints.pop(key, None)
        if checkpoint is not None:
            checkpoint.close()

    def _pass_on(self, call: ReplayCall, key: bytes, checkpoint: CheckpointReplay) -> None:
        """Have a request answered from the cut, or from the beginning where that can't be."""
        call.why_whole = checkpoint.why_not(call)
        if not call.why_whole:
            try:
                call.pass_on(checkpoint.channel)
            except OSError:
                call.why_whole = "the process that had reached the call has ended"
                if self._checkpoints.get(key) is checkpoint:
                    self._drop(key)
            else:
                return
        self._run_whole(call)

    def _close_ours(self) -> None:
        """Close in a fork what only this process uses. As long as a pipe is open anywhere, its reader waits."""
        self._listener.close()
        os.close(self._lifeline)
        for checkpoint in (*self._checkpoints.values(), *self._next.values()):
            checkpoint.close()
            for call in checkpoint.waiting:
                call.close()


def _serve_first(call: ReplayCall) -> bool:
    """Answer the first request, and import and weave in this process what that replay has imported.

    Returns:
        Whether forks of this process are as good as new ones.
    """
    reading, writing = os.pipe()

    def tell_modules() -> None:
        with open(writing, "wb") as file:
            file.write(msgspec.json.encode(list(sys.modules)) + b"\n")

    process = fork_process()
    if process == 0:
        os.close(reading)
        if call.fork():
            call.enter()
            run_to_end(call.request, call.request.environment, at_end=tell_modules)
        unpatched.immediate_exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        told = (
            file.readline()
        )  # not to the end: a process that the agent has left behind may hold the pipe open
    # The trace file exists as long as the asking process waits for the end of the connection.
    if told:
        before, folder = dict(os.environ), os.getcwd()
        os.environ.clear()
        os.environ.update(call.request.environment)
        with suppress(Exception):
            options, wanted = options_of(call.request)
            os.chdir(call.request.folder)
            prepare_replay(options, call.request.trace, wanted)
            _import_libraries([*msgspec.json.decode(told, type=list[str]), _EDGE_INPUTS])
        os.environ.clear()
        os.environ.update(before)
        os.chdir(folder)
    if "ssl" in sys.modules:
        from autochron.isolation.tls import defer_ca_loading  # lazy: only some agents have TLS

        defer_ca_loading()
    call.close()
    os.waitpid(process, 0)
    return len(os.listdir("/proc/self/task")) == 1


def _import_libraries(names: list[str]) -> None:
    for name in names:
        if name not in sys.modules and (is_library(name) or name.startswith(_OWN)):
            with suppress(BaseException):  # the replay has imported it in another way, and will again
                importlib.import_module(name)


def main(words: list[str]) -> int:
    """Serve until the lifeline is closed; return the exit status."""
    address, lifeline = words[0], int(words[1])
    hashseed.restore_environment()
    # As for the command `autochron`: a module of the working folder must not hide one of the standard library.
    sys.path[0] = os.path.dirname(
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(_BACKLOG)
        ReplayServer(listener, lifeline, os.path.dirname(address)).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
