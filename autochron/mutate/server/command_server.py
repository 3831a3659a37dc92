"""A process that runs a pytest command in a fork for each trial, with other texts in the place of some files.

    python -m autochron.mutate.server.command_server START

`mutate.distributor` uses it to try cosmic-ray's mutants: any tests, as the command runs them, with the exit status and
all of the output. What the tests import from libraries is imported once, before the forks. The project's own modules
are imported in each fork.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO

import msgspec
import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.instrument import source_overlay
from autochron.mutate.protocol import ForkServerStart, Job, Ready, ServerPipes, ServerTask, TrialReply
from autochron.mutate.server.libraries import is_library
from autochron.mutate.server.main import fork_servers
from autochron.mutate.server.trials import send
from autochron.workers.fork import forked
from autochron.workers.limits import Limits, has_grown
from autochron.workers.silence import flush

_UNLIMITED = 1 << 46
"""Bytes. cosmic-ray's own distributor sets no limit, so no test may reach a limit here."""

_WARNING_METHOD = "_warn_already_imported"

_MAX_OUTPUT = 1 << 20
"""Bytes that are kept of a command's output: the last ones."""


class CommandServer:
    """A server whose trials are whole runs of the command."""

    def __init__(self, task: ServerTask, jobs: BinaryIO, writing: int) -> None:
        self._task = task
        self._jobs = jobs
        self._writing = writing
        self._files = {os.path.realpath(file) for file in task.files}
        self._limits = Limits(task.timeout or 0.0, _UNLIMITED, os.cpu_count() or 1)

    def serve(self) -> None:
        """Try the unchanged files, send a `Ready`, and answer each job with a reply until there are no more jobs."""
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        sys.path[0] = os.getcwd() if self._task.is_module else os.path.dirname(sys.executable)
        sys.argv = [pytest.__file__, *self._task.words]
        # pytest warns of modules that it can't rewrite because they are loaded. A project may turn warnings into errors.
        if hasattr(AssertionRewritingHook, _WARNING_METHOD):
            setattr(AssertionRewritingHook, _WARNING_METHOD, lambda *_: None)
        loaded = sorted(self._loaded_files())
        if loaded:
            fault = f"{loaded[0]} is loaded by the process that runs the tests; try it with cosmic-ray's distributor `local`"
            send(self._writing, Ready(fault=fault))
            return
        fix_reply = self._try_in_fork(Job(id="fix", variant="fix"))
        self._preload()
        send(self._writing, Ready(fix=fix_reply, limit=self._limits.seconds, process=os.getpid()))
        for line in self._jobs:
            send(self._writing, self._try_in_fork(msgspec.json.decode(line, type=Job)))

    def _loaded_files(self) -> Iterator[str]:
        """Yield those of the files to change that are loaded in this process."""
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if file and os.path.realpath(file) in self._files:
                yield file

    def _preload(self) -> None:
        """Import the libraries that the tests import, unless that would also import modules of the project."""

        def imported_by_tests() -> bytes:
            before = set(sys.modules)
            self._run_command()
            return msgspec.json.encode([name for name in sys.modules if name not in before])

        ended = forked(lambda _: imported_by_tests(), self._limits)
        if not ended.is_whole:
            return
        libraries = [
            name
            for name in msgspec.json.decode(ended.output, type=list[str])
            if is_library(name, self._files)
        ]

        def imported_with_libraries() -> bytes:
            _import_all(libraries)
            return msgspec.json.encode([name for name in sys.modules if not is_library(name, self._files)])

        before = [name for name in sys.modules if not is_library(name, self._files)]
        ended = forked(lambda _: imported_with_libraries(), self._limits)
        if ended.is_whole and set(msgspec.json.decode(ended.output, type=list[str])) <= set(before):
            _import_all(libraries)
            has_grown()

    def _try_in_fork(self, job: Job) -> TrialReply:
        """Run a trial in a fork, and return its reply.

        The last bytes of the command's output are the reply's `said`.
        """
        started = unpatched.perf_counter_ns()
        flush()
        with tempfile.TemporaryFile() as file:
            ended = forked(lambda _: self._run_job(job, file.fileno()), self._limits)
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _MAX_OUTPUT))
            output = file.read().decode("utf-8", "replace")
        seconds = (unpatched.perf_counter_ns() - started) / 1e9
        reply = TrialReply(id=job.id, variant=job.variant, said=output, seconds=seconds)
        if ended.is_whole:
            reply = msgspec.json.decode(ended.output, type=TrialReply)
            return msgspec.structs.replace(reply, said=output, seconds=seconds)
        if ended.is_late:
            return msgspec.structs.replace(reply, kind="time-out")
        if ended.signal:
            return msgspec.structs.replace(reply, kind="signal")
        return msgspec.structs.replace(reply, kind="exit" if ended.status else "passed")

    def _run_job(self, job: Job, output: int) -> bytes:
        """Put a job's texts in place, run the command, and return the reply; runs in the fork.

        Args:
            job: what is tried.
            output: the descriptor of the file that gets the command's output.
        """
        os.dup2(output, 1)
        reply = TrialReply(id=job.id, variant=job.variant)
        for path, text in job.texts.items():
            source_overlay.lay(path, text)
        status = self._run_command()
        unread = [path for path in job.texts if os.path.realpath(path) not in source_overlay.READ]
        unread = [
            path
            for path in unread
            if os.path.realpath(path) in {os.path.realpath(file) for file in self._loaded_files()}
        ]
        if unread:
            fault = (
                f"{unread[0]} was not imported by Python's own loader, so its mutant was not tried; try it with cosmic-ray's"
                " distributor `local`"
            )
            return msgspec.json.encode(msgspec.structs.replace(reply, fault=fault))
        return msgspec.json.encode(msgspec.structs.replace(reply, kind="assertion" if status else "passed"))

    def _run_command(self) -> int:
        """Run the command, and return its exit status."""
        try:
            status = int(pytest.main(list(self._task.words)))
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            status = 1
        for thread in threading.enumerate():  # as the interpreter does when it exits
            if thread is not threading.main_thread() and not thread.daemon:
                thread.join()
        flush()
        return status


def _import_all(names: Iterable[str]) -> None:
    for name in names:
        with suppress(BaseException):  # the tests have imported it in another way, and will again
            importlib.import_module(name)


def serve(pipes: ServerPipes) -> None:
    """Read a task from a pipe, then jobs, and answer them until there are no more."""
    with open(pipes.reading, "rb", closefd=False) as jobs:
        line = jobs.readline()
        if line:
            CommandServer(msgspec.json.decode(line, type=ServerTask), jobs, pipes.writing).serve()


def main(words: list[str]) -> int:
    """Fork servers, and return the exit status."""
    return fork_servers(msgspec.json.decode(words[0], type=ForkServerStart), serve)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
