"""A process that runs a command of pytest in a fork for each trial, with other texts in the place of some files.

    python -m autochron.mutate.server.command_server START

It is what `mutate.distributor` has cosmic-ray's mutants tried by: any tests, as the command runs them, its status and all
that it says. What the tests import from elsewhere is imported once, before the forks; the project's own modules in each.
"""

from __future__ import annotations

import importlib
import sys
import sysconfig
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
from autochron.mutate.server.main import fork_servers
from autochron.mutate.server.trials import say
from autochron.workers.fork import forked
from autochron.workers.limits import Limits, has_grown
from autochron.workers.silence import flush

_UNLIMITED = 1 << 46
"""Bytes: cosmic-ray's own distributor sets no limit, so none of its tests may meet one here."""

_WARNS = "_warn_already_imported"

_MOST = 1 << 20
"""Bytes of what a command says that are kept: the end."""


class Commands:
    """A server of which each trial is a whole run of the command."""

    def __init__(self, asked: ServerTask, jobs: BinaryIO, writing: int) -> None:
        self._asked = asked
        self._jobs = jobs
        self._writing = writing
        self._files = {os.path.realpath(each) for each in asked.files}
        self._limits = Limits(asked.timeout or 0.0, _UNLIMITED, os.cpu_count() or 1)

    def serve(self) -> None:
        """Try what is asked for, as long as something is."""
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        sys.path[0] = os.getcwd() if self._asked.is_module else os.path.dirname(sys.executable)
        sys.argv = [pytest.__file__, *self._asked.words]
        # That what is loaded already is not rewritten is a warning, which a project may have made an error.
        if hasattr(AssertionRewritingHook, _WARNS):
            setattr(AssertionRewritingHook, _WARNS, lambda *_: None)
        loaded = sorted(self._loaded())
        if loaded:
            fault = f"{loaded[0]} is loaded by what runs the tests here; have it tried by cosmic-ray's distributor `local`"
            say(self._writing, Ready(fault=fault))
            return
        fix = self._tried(Job(id="fix", variant="fix"))
        self._preload()
        say(self._writing, Ready(fix=fix, limit=self._limits.seconds, process=os.getpid()))
        for line in self._jobs:
            say(self._writing, self._tried(msgspec.json.decode(line, type=Job)))

    def _loaded(self) -> Iterator[str]:
        """Yield those of the files that are to be changed which are loaded."""
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if file and os.path.realpath(file) in self._files:
                yield file

    def _preload(self) -> None:
        """Import what the tests import from where libraries are, unless that brings in what is the project's."""

        def names() -> bytes:
            before = set(sys.modules)
            self._run()
            return msgspec.json.encode([each for each in sys.modules if each not in before])

        ended = forked(lambda _: names(), self._limits)
        if not ended.is_whole:
            return
        wanted = [
            each for each in msgspec.json.decode(ended.said, type=list[str]) if self._is_elsewhere(each)
        ]

        def brings_in() -> bytes:
            _import(wanted)
            return msgspec.json.encode([each for each in sys.modules if not self._is_elsewhere(each)])

        before = [each for each in sys.modules if not self._is_elsewhere(each)]
        ended = forked(lambda _: brings_in(), self._limits)
        if ended.is_whole and set(msgspec.json.decode(ended.said, type=list[str])) <= set(before):
            _import(wanted)
            has_grown()

    def _is_elsewhere(self, name: str) -> bool:
        """Return whether a module is a library's, and of none that has a file which is to be changed."""
        top = name.partition(".")[0]
        module = sys.modules.get(top)
        file = getattr(module, "__file__", None) if module is not None else _found(top)
        if file is None:
            return module is not None or top in sys.builtin_module_names
        file = os.path.realpath(file)
        folder = os.path.dirname(file)
        is_package = os.path.basename(file).startswith("__init__.")
        if file in self._files or (
            is_package and any(each.startswith(folder + os.sep) for each in self._files)
        ):
            return False
        return file.startswith(_LIBRARIES)

    def _tried(self, job: Job) -> TrialReply:
        """Try in a fork, and say how that ended: the status as the start of `said`, what it said behind."""
        began = unpatched.perf_counter_ns()
        flush()
        with tempfile.TemporaryFile() as file:
            ended = forked(lambda _: self._try(job, file.fileno()), self._limits)
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _MOST))
            said = file.read().decode("utf-8", "replace")
        took = (unpatched.perf_counter_ns() - began) / 1e9
        reply = TrialReply(id=job.id, variant=job.variant, said=said, seconds=took)
        if ended.is_whole:
            reply = msgspec.json.decode(ended.said, type=TrialReply)
            return msgspec.structs.replace(reply, said=said, seconds=took)
        if ended.is_late:
            return msgspec.structs.replace(reply, kind="time-out")
        if ended.signal:
            return msgspec.structs.replace(reply, kind="signal")
        return msgspec.structs.replace(reply, kind="exit" if ended.status else "passed")

    def _try(self, job: Job, output: int) -> bytes:
        os.dup2(output, 1)
        reply = TrialReply(id=job.id, variant=job.variant)
        for path, text in job.texts.items():
            source_overlay.lay(path, text)
        status = self._run()
        past = [path for path in job.texts if os.path.realpath(path) not in source_overlay.READ]
        past = [
            path
            for path in past
            if os.path.realpath(path) in {os.path.realpath(each) for each in self._loaded()}
        ]
        if past:
            fault = (
                f"{past[0]} was not imported by Python's own loader, so its mutant was not tried; have it tried by"
                " cosmic-ray's distributor `local`"
            )
            return msgspec.json.encode(msgspec.structs.replace(reply, fault=fault))
        return msgspec.json.encode(msgspec.structs.replace(reply, kind="assertion" if status else "passed"))

    def _run(self) -> int:
        """Run the command; gives its status."""
        try:
            status = int(pytest.main(list(self._asked.words)))
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            status = 1
        for thread in threading.enumerate():  # as an interpreter does that ends
            if thread is not threading.main_thread() and not thread.daemon:
                thread.join()
        flush()
        return status


_LIBRARIES = tuple(
    sorted(
        {
            os.path.realpath(sysconfig.get_path(name)) + os.sep
            for name in ("stdlib", "platstdlib", "purelib", "platlib")
        }
    )
)


def _found(name: str) -> str | None:
    from importlib.util import find_spec  # lazy: before the forks only

    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    return None if spec is None else spec.origin


def _import(names: Iterable[str]) -> None:
    for name in names:
        with suppress(BaseException):  # the tests have imported it in another way, and do so again
            importlib.import_module(name)


def serve(channel: ServerPipes) -> None:
    """Do what is asked through a channel, until nothing is asked any more."""
    with open(channel.reading, "rb", closefd=False) as jobs:
        first = jobs.readline()
        if first:
            Commands(msgspec.json.decode(first, type=ServerTask), jobs, channel.writing).serve()


def main(words: list[str]) -> int:
    """Fork into servers."""
    return fork_servers(msgspec.json.decode(words[0], type=ForkServerStart), serve)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
