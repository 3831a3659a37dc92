"""A process that tries mutants: it collects an incident's tests once, and runs them in a fork for each trial.

    python -m autochron.mutate.server.main START

It imports what the incident's files import, and forks a server for each pair of pipes. A server reads its task and then
jobs, and writes a reply to each. Each message is a line of JSON (`mutate.protocol`).
"""

from __future__ import annotations

import ast
import gc
import importlib
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

import msgspec
import pytest

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.instrument import source_overlay
from autochron.isolation.tls import defer_ca_loading
from autochron.mutate.protocol import ForkServerStart, Job, Ready, ServerPipes, ServerTask, TrialReply
from autochron.mutate.server.endings import kind_of, run_trial
from autochron.mutate.server.plugin_conflicts import ConflictDisabler
from autochron.mutate.server.preload import modules_imported_by, preload, pytest_arguments
from autochron.mutate.server.trial_limits import FIRST_LIMIT, limits_of
from autochron.mutate.server.trials import Trials, send
from autochron.mutate.server.warmup import warm_up
from autochron.weaving.heap import note_freeze
from autochron.workers.fork import fork_process, forked, keep_from_forks
from autochron.workers.limits import Limits, has_grown
from autochron.workers.prepared import PREPARED_REPLAYS
from autochron.workers.silence import flush


class SingleTrial(Trials):
    """A pytest plugin for a run that is one trial. The incident's modules are imported in this run."""

    def __init__(self, task: ServerTask, job: Job, fix_reply: TrialReply | None) -> None:
        """Take what is tried.

        Args:
            task: what the server tries.
            job: the trial. Its text is put in place before this run, so it is ignored here.
            fix_reply: the reply of the fix, which edge inputs are compared with; None in the trial of the fix itself.
        """
        super().__init__(task, None, -1)
        self._job = msgspec.structs.replace(job, target=None, text="", rebuilds=False)
        self._fix_reply = fix_reply
        self.reply: TrialReply | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests, and keep the reply."""
        if not self._take(session):
            return True
        self._weave()
        for inputs in (self._edge_inputs, self._rerun_inputs):
            if inputs is not None:
                inputs.learn_from(self._fix_reply)
        self.reply = self._run_job(self._job)
        return True

    def result(self) -> TrialReply:
        """Return the reply, or one that says why the tests could not be collected."""
        if self.reply is not None:
            return self.reply
        reason = self._fault or "the tests can't be collected"
        return TrialReply(id=self._job.id, variant=self._job.variant, kind="crash", said=reason)


class RebuildingServer:
    """A server whose trials each import the incident's modules, with the mutant's text in the place of a file."""

    def __init__(self, task: ServerTask, jobs: BinaryIO, writing: int) -> None:
        self._task = task
        self._jobs = jobs
        self._writing = writing
        self._limits = Limits(FIRST_LIMIT, task.memory)
        self._fix_reply: TrialReply | None = None

    def serve(self) -> None:
        """Try the fix, send a `Ready`, and answer each job with a reply until there are no more jobs."""
        self._import()
        defer_ca_loading()
        fix_reply = self._try_in_fork(Job(id="fix", variant="fix"))
        self._fix_reply = fix_reply
        self._limits = limits_of(self._task, fix_reply)
        limit = self._limits.seconds
        send(
            self._writing, Ready(targets=self._task.targets, fix=fix_reply, limit=limit, process=os.getpid())
        )
        for line in self._jobs:
            send(self._writing, self._try_in_fork(msgspec.json.decode(line, type=Job)))

    def _import(self) -> None:
        """Import pytest's plugins and the libraries once, before the forks; nothing that a mutant may change."""
        if any(target.file.startswith("../") for target in self._task.targets):
            return  # the target may be part of a library, or imported by one
        before = set(sys.modules)
        fix = Job(id="fix", variant="fix")
        ended = forked(
            lambda _: msgspec.json.encode(modules_imported_by(lambda: self._run_job(fix), before)),
            self._limits,
        )
        if ended.is_whole:
            preload(msgspec.json.decode(ended.output, type=dict[str, str]), self._task.folder)
            gc.collect()
            gc.freeze()
            note_freeze()
            has_grown()

    def _try_in_fork(self, job: Job) -> TrialReply:
        return run_trial(job, lambda: self._run_job(job), self._limits)

    def _run_job(self, job: Job) -> TrialReply:
        if job.target is not None:
            source_overlay.lay(os.path.join(self._task.folder, job.target.file), job.text)
        trial = SingleTrial(self._task, job, self._fix_reply)
        try:
            pytest.main(pytest_arguments(self._task), plugins=[ConflictDisabler(), trial])
        except BaseException as error:  # raised by a module that is collected
            kind, reason = kind_of(error)
            return TrialReply(id=job.id, variant=job.variant, kind=kind, said=reason)
        return trial.result()


def serve(pipes: ServerPipes) -> None:
    """Read a task from a pipe, then jobs, and answer them until there are no more."""
    keep_from_forks(*msgspec.structs.astuple(pipes))
    with open(pipes.reading, "rb", closefd=False) as jobs:
        line = jobs.readline()
        if not line:
            return
        task = msgspec.json.decode(line, type=ServerTask)
        if task.prepared:
            os.environ[PREPARED_REPLAYS] = task.prepared
        if task.rebuilds:
            RebuildingServer(task, jobs, pipes.writing).serve()
            return
        trials = Trials(task, jobs, pipes.writing)
        trials.end(int(pytest.main(pytest_arguments(task), plugins=[ConflictDisabler(), trials])))


def main(words: list[str]) -> int:
    """Import what the incident's files import, and fork servers; return the exit status."""
    start = msgspec.json.decode(words[0], type=ForkServerStart)
    for name in sorted(imports_of(start.folder)):
        with suppress(BaseException):  # the tests import it as well, and report the error
            importlib.import_module(name)
    with suppress(Exception):  # the trials are slower without it, and not otherwise different
        warm_up()
    return fork_servers(start, serve)


def fork_servers(start: ForkServerStart, serve: Callable[[ServerPipes], None]) -> int:
    """Fork a server for each pair of pipes, and wait until all have ended.

    Args:
        start: the pipes.
        serve: what a server does in its process.

    Returns:
        The exit status of this process.
    """
    for pipes in start.channels:
        if fork_process() == 0:
            for other in start.channels:
                if other is not pipes:
                    os.close(other.reading)
                    os.close(other.writing)
            status = 1
            try:
                os.setsid()
                serve(pipes)
                status = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                flush()
                unpatched.immediate_exit(status)
    for pipes in start.channels:
        os.close(pipes.reading)
        os.close(pipes.writing)
    for _ in start.channels:
        os.wait()
    return 0


def imports_of(folder: str) -> set[str]:
    """Return the names of the modules that the files of a folder import from elsewhere, at their top level."""
    modules: set[str] = set()
    own = {entry.name.removesuffix(".py") for entry in os.scandir(folder)}
    for entry in os.scandir(folder):
        if not entry.name.endswith(".py"):
            continue
        try:
            with open(entry.path, "rb") as file:
                body = ast.parse(file.read()).body
        except (SyntaxError, ValueError, OSError):  # pytest reports it
            continue
        for statement in body:
            names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
            if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
                names = [statement.module]
            modules |= {name for name in names if name.partition(".")[0] not in own}
    return modules


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
