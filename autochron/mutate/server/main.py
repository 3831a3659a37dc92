"""A process that tries mutants: it collects an incident's tests once, and runs them in a fork for each trial.

    python -m autochron.mutate.server.main START

It imports what the incident's files import, and forks into a server for each channel. A server reads what it is to do,
then jobs, and writes a reply to each: a line of JSON each (`mutate.protocol`).
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
from autochron.isolation.tls import skip_ca_loading
from autochron.mutate.protocol import ForkServerStart, Job, Ready, ServerPipes, ServerTask, TrialReply
from autochron.mutate.server.endings import kind_of, settled
from autochron.mutate.server.plugin_conflicts import Alone
from autochron.mutate.server.preload import imported, preload, words_of
from autochron.mutate.server.trials import FIRST, Trials, limits_of, say
from autochron.mutate.server.warmup import rehearse
from autochron.workers.fork import fork_process, forked, keep_from_forks
from autochron.workers.limits import Limits, has_grown
from autochron.workers.silence import flush


class Once(Trials):
    """The plugin of a run of pytest that is one trial, its modules imported for that."""

    def __init__(self, asked: ServerTask, job: Job, known: TrialReply | None) -> None:
        super().__init__(asked, None, -1)
        self._job = msgspec.structs.replace(job, target=None, text="", rebuilds=False)
        self._known = known
        self.reply: TrialReply | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests; whatever comes of that is the reply."""
        if not self._take(session):
            return True
        self._settle()
        if self._widening is not None:
            self._widening.know(self._known)
        self.reply = self._try(self._job)
        return True

    def said(self) -> TrialReply:
        """Return the reply; that the tests could not be collected is one, too."""
        if self.reply is not None:
            return self.reply
        said = self._fault or "the tests can't be collected"
        return TrialReply(id=self._job.id, variant=self._job.variant, kind="crash", said=said)


class Rebuilding:
    """A server whose trials each import the incident's modules, with another text in a file's place."""

    def __init__(self, asked: ServerTask, jobs: BinaryIO, writing: int) -> None:
        self._asked = asked
        self._jobs = jobs
        self._writing = writing
        self._limits = Limits(FIRST, asked.memory)
        self._known: TrialReply | None = None

    def serve(self) -> None:
        """Try what is asked for, as long as something is."""
        self._import()
        skip_ca_loading()
        first = self._tried(Job(id="fix", variant="fix"))
        self._known = first
        self._limits = limits_of(self._asked, first)
        limit = self._limits.seconds
        say(self._writing, Ready(targets=self._asked.targets, fix=first, limit=limit, process=os.getpid()))
        for line in self._jobs:
            say(self._writing, self._tried(msgspec.json.decode(line, type=Job)))

    def _import(self) -> None:
        """Import once what each trial would: the plugins of pytest, the libraries; nothing of what may be changed."""
        if any(each.file.startswith("../") for each in self._asked.targets):
            return  # then a library may be what is changed, or import that
        before = set(sys.modules)
        fix = Job(id="fix", variant="fix")
        ended = forked(lambda _: msgspec.json.encode(imported(lambda: self._try(fix), before)), self._limits)
        if ended.is_whole:
            preload(msgspec.json.decode(ended.said, type=dict[str, str]), self._asked.folder)
            gc.collect()
            gc.freeze()
            has_grown()

    def _tried(self, job: Job) -> TrialReply:
        return settled(job, lambda: self._try(job), self._limits)

    def _try(self, job: Job) -> TrialReply:
        if job.target is not None:
            source_overlay.lay(os.path.join(self._asked.folder, job.target.file), job.text)
        once = Once(self._asked, job, self._known)
        try:
            pytest.main(words_of(self._asked), plugins=[Alone(), once])
        except BaseException as error:  # what a module that is collected may raise
            kind, said = kind_of(error)
            return TrialReply(id=job.id, variant=job.variant, kind=kind, said=said)
        return once.said()


def serve(channel: ServerPipes) -> None:
    """Do what is asked through a channel, until nothing is asked any more."""
    keep_from_forks(*msgspec.structs.astuple(channel))
    with open(channel.reading, "rb", closefd=False) as jobs:
        first = jobs.readline()
        if not first:
            return
        asked = msgspec.json.decode(first, type=ServerTask)
        if asked.rebuilds:
            Rebuilding(asked, jobs, channel.writing).serve()
            return
        trials = Trials(asked, jobs, channel.writing)
        trials.end(int(pytest.main(words_of(asked), plugins=[Alone(), trials])))


def main(words: list[str]) -> int:
    """Import, and fork into servers."""
    start = msgspec.json.decode(words[0], type=ForkServerStart)
    for name in sorted(imports_of(start.folder)):
        with suppress(BaseException):  # the tests import it, and say so
            importlib.import_module(name)
    with suppress(Exception):  # the trials are slower, then, and no other
        rehearse()
    return fork_servers(start, serve)


def fork_servers(start: ForkServerStart, serve: Callable[[ServerPipes], None]) -> int:
    """Fork into a server for each channel, and wait for them."""
    for channel in start.channels:
        if fork_process() == 0:
            for other in start.channels:
                if other is not channel:
                    os.close(other.reading)
                    os.close(other.writing)
            status = 1
            try:
                os.setsid()
                serve(channel)
                status = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                flush()
                unpatched.immediate_exit(status)
    for channel in start.channels:
        os.close(channel.reading)
        os.close(channel.writing)
    for _ in start.channels:
        os.wait()
    return 0


def imports_of(folder: str) -> set[str]:
    """Return what the files of a folder import from elsewhere, as they say it at their top."""
    found: set[str] = set()
    own = {entry.name.removesuffix(".py") for entry in os.scandir(folder)}
    for entry in os.scandir(folder):
        if not entry.name.endswith(".py"):
            continue
        try:
            with open(entry.path, "rb") as file:
                body = ast.parse(file.read()).body
        except (SyntaxError, ValueError, OSError):  # pytest says so
            continue
        for each in body:
            names = [alias.name for alias in each.names] if isinstance(each, ast.Import) else []
            if isinstance(each, ast.ImportFrom) and each.module and not each.level:
                names = [each.module]
            found |= {name for name in names if name.partition(".")[0] not in own}
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
