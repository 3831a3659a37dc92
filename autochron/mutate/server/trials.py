"""The trials of one server: an incident's tests collected once, and run in a fork for each mutant."""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Generator
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, BinaryIO

import msgspec
import pytest

from autochron._runtime.unpatched import os
from autochron.errors import AutochronError, PlanError, UsageError
from autochron.instrument.swap import Swap
from autochron.isolation.tls import skip_ca_loading
from autochron.mutate.model import Kind, MutationTarget
from autochron.mutate.protocol import Job, Ready, ServerTask, TrialReply, digest_of
from autochron.mutate.server.checkpoint import CheckpointProcess, Codes, ForkPoint, LostError
from autochron.mutate.server.edge_inputs import Widening, longest, widened
from autochron.mutate.server.endings import ended_as, first_line, kind_of, settled
from autochron.mutate.server.marked_tests import mark, replayer_of, swaps_of
from autochron.mutate.server.outcomes import given_by, recorded_of
from autochron.mutate.server.phases import PhaseRunner
from autochron.mutate.server.preload import file_of, imported, preload, warm, words_of
from autochron.mutate.server.targets import TargetFunctions, targets_of
from autochron.pytest_plugin import MARKER, PREPARED, SESSION
from autochron.pytest_plugin.marks import EXAMPLE
from autochron.pytest_plugin.sessions import ReplayedTest
from autochron.workers.fork import forked
from autochron.workers.limits import Limits, has_grown

FIRST, _LEAST, _TIMES = 120.0, 2.0, 10.0
"""Seconds that the fix may take at first, that any trial may, and how many times as long as the fix."""


class Trials:
    """The plugin of pytest that tries mutants in the place of running the tests."""

    def __init__(self, asked: ServerTask, jobs: BinaryIO | None, writing: int) -> None:
        self._asked = asked
        self._jobs = jobs
        self._writing = writing
        self._fault = ""
        self._items: list[pytest.Item] = []
        self._plays: list[ReplayedTest] = []
        self._swaps: dict[str, str] = {}
        self._functions = TargetFunctions(asked.folder)
        self._runner = PhaseRunner(())
        self._limits = Limits(FIRST, asked.memory)
        self._widening: Widening | None = None
        self._is_served = False
        self._cuts = False
        """Whether trials go on from the cut."""
        self._stand: CheckpointProcess | None = None
        self._cut: ForkPoint | None = None
        """In the process that runs up to the cut, and in its trials."""
        self._loaded: dict[str, str] = {}
        """The modules that a trial has imported, with their files."""

    # --- collecting ------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Install what tests without a trace are to find."""
        for old, new in self._asked.swaps.items():
            try:
                Swap(old, new, self._asked.folder).install()
            except Exception as error:  # of what is imported
                raise pytest.UsageError(f"{new} can't be installed as {old}: {first_line(error)}") from error

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep why a module could not be collected."""
        if report.failed and not self._fault:
            self._fault = (
                f"{report.nodeid or 'the tests'} can't be collected: {_last_line(str(report.longrepr))}"
            )

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Keep why pytest has ended otherwise."""
        self._fault = self._fault or f"pytest can't go on: {first_line(excinfo.value)}"

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that replay a trace, or those that don't."""
        wants = self._asked.server != "mocks"
        items[:] = [each for each in items if (each.get_closest_marker(MARKER) is not None) is wants]
        if self._asked.server == "stub":
            for each in items:
                mark(each, live=(), swap=None)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try what is asked for, as long as something is."""
        if not self._take(session):
            return True  # `end` says why
        try:
            ready = self._prepare()
        except AutochronError as error:
            self._fault = error.message
            return True
        self._is_served = True
        say(self._writing, ready)
        for line in self._jobs or ():
            job = msgspec.json.decode(line, type=Job)
            told = self._tried_at_cut(job, line)
            if told is None:
                say(self._writing, self._tried(job))
            else:
                os.write(self._writing, told)
        return True

    def _take(self, session: pytest.Session) -> bool:
        """Take the collected tests; return whether they can be tried."""
        self._items = session.items
        self._runner = PhaseRunner(self._items)
        return bool(self._items) and not session.testsfailed

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        """Have the run that is made up to the cut stop there, and a trial that goes on from there end with the test."""
        play = pyfuncitem.stash.get(SESSION, None)
        if self._cut is None or not isinstance(play, ReplayedTest):
            return (yield)
        session = play.handle.session
        self._cut.watch(session, session.activation.project, session.swaps)
        result: Any = None
        raised: BaseException | None = None
        try:
            result = yield
        except BaseException as error:
            raised = error
        if self._cut.is_passed:
            # Not by way of the plugins: none has anything to say of a plain test, and each costs pages of the server's.
            try:
                play.end(raised)
            except BaseException as error:
                raised = error
            is_skipped = isinstance(raised, pytest.skip.Exception)
            kind, said = kind_of(None if is_skipped else raised)
            self._cut.said(lambda job: self._reply(job, kind, said))
        if raised is not None:
            raise raised
        return result

    def end(self, status: int) -> None:
        """Say why nothing could be tried, where that is so."""
        if self._is_served:
            return
        wanted = f"there is no test marked {MARKER} in {{}}; mark what replays a trace: {EXAMPLE}"
        if self._asked.server == "mocks":
            wanted = "there is no test without a trace in {}"
        none = wanted.format(", ".join(os.path.basename(each) for each in self._asked.paths))
        say(self._writing, Ready(fault=self._fault or (none if status in {0, 5} else self._why(status))))

    def _why(self, status: int) -> str:
        """Have pytest say once more why it does not begin: that goes nowhere but to its standard error."""
        said = io.StringIO()
        with redirect_stderr(said), redirect_stdout(io.StringIO()):
            pytest.main([*words_of(self._asked), "--collect-only"])
        return f"pytest ends with status {status} there: {_last_line(said.getvalue())}"

    # --- making ready ----------------------------------------------------------------------------------------------

    def _settle(self) -> tuple[MutationTarget, ...]:
        """Weave as the tests will, and find what is to be mutated."""
        if self._asked.server != "mocks":
            self._plays = [replayer_of(each) for each in self._items]
        for play in self._plays:
            self._swaps |= swaps_of(play)
        targets = targets_of(self._asked, self._plays)
        for each in targets:
            self._functions.find(each)
        if self._asked.server == "widen":
            self._widening = self._widen()
        return targets

    def _prepare(self) -> Ready:
        """Weave and import, before any fork, what each trial would have to."""
        try:
            targets = self._settle()
        except AutochronError:
            raise
        except (Exception, SystemExit) as error:  # of a module that is imported here
            raise PlanError(f"what it tests can't be imported: {first_line(error)}") from error
        fix = Job(id="fix", variant="fix")
        before = set(sys.modules)
        ended = forked(lambda _: msgspec.json.encode(imported(lambda: self._try(fix), before)), self._limits)
        if not ended.is_whole:
            raise PlanError(f"the test can't be tried: {ended_as(ended, self._limits)[1]}")
        self._loaded = msgspec.json.decode(ended.said, type=dict[str, str])
        preload(self._loaded, self._asked.folder)
        skip_ca_loading()
        self._functions.parse()
        for item, play in zip(self._items, self._plays, strict=False):
            play.handle.prepare()
            warm(play)
            if self._widening is None:  # its trials mark the tests anew
                item.stash[PREPARED] = play
        if self._widening is None:
            self._runner.set_up()
        gc.collect()
        gc.freeze()
        has_grown()
        first = self._tried(fix)
        if self._widening is not None:
            self._widening.know(first)
        self._limits = limits_of(self._asked, first)
        self._cuts = self._cuts_alike(first)
        return self._ready(targets, first)

    def _ready(self, targets: tuple[MutationTarget, ...], first: TrialReply) -> Ready:
        return Ready(
            tests=len(self._items),
            swaps=self._swaps,
            targets=targets,
            recorded=tuple(
                each
                for item, play in zip(self._items, self._plays, strict=False)  # tests of mocks have no plays
                for each in recorded_of(play, self._where(item))
            ),
            fix=first,
            limit=self._limits.seconds,
            process=os.getpid(),
            files=self._files(),
            at_cut=self._cuts,
        )

    def _files(self) -> dict[str, str]:
        """Return the files of the project that were loaded, each with its digest."""
        home = os.path.realpath(self._asked.folder)
        roots = {home, *(os.path.realpath(play.root) for play in self._plays)}
        paths = {
            os.path.realpath(each)
            for each in (*map(file_of, list(sys.modules)), *self._loaded.values())
            if each
        }
        paths |= self._functions.paths()
        libraries = os.path.realpath(sys.prefix) + os.sep
        found = [
            path
            for path in paths
            if not path.startswith(libraries) and any(path.startswith(root + os.sep) for root in roots)
        ]
        return {os.path.relpath(path, home).replace(os.sep, "/"): digest_of(path) for path in sorted(found)}

    def _widen(self) -> Widening:
        """Have each target swapped for what gives it other inputs; without a swap they stand in for themselves."""
        functions = self._functions.all()
        for item, play in zip(self._items, self._plays, strict=True):
            if not play.options.swap:
                own = {f"{each.__code__.co_filename}:{each.__code__.co_qualname}": each for each in functions}
                mark(item, swap=own)
        self._plays = [replayer_of(each) for each in self._items]
        texts = {}
        for each in functions:
            with open(each.__code__.co_filename, encoding="utf-8") as file:
                texts[each.__code__.co_filename] = file.read()
        return Widening(functions, texts, self._asked)

    def _explore(self, widening: Widening, reply: TrialReply) -> TrialReply:
        """Run the tests with other inputs at each call of a target; in the fork."""
        explorers = []
        for item, play in zip(self._items, self._plays, strict=True):
            swaps: dict[str, Any] = {}
            wanted = {old: Swap(old, new, play.root) for old, new in (play.options.swap or {}).items()}
            names = [each.qualname.rpartition(".")[2] for each in wanted.values()]
            for old, swap in wanted.items():
                name = swap.qualname.rpartition(".")[2]
                name = name if names.count(name) == 1 else swap.qualname
                explorers.append(widening.explorer(swap.function(), name, self._where(item)))
                swaps[old] = explorers[-1].callable()
            mark(item, swap=swaps)
        kind, said = kind_of(self._runner.run())
        return widened(msgspec.structs.replace(reply, kind=kind, said=said), explorers, widening.knows())

    # --- trials ----------------------------------------------------------------------------------------------------

    def _tried(self, job: Job) -> TrialReply:
        """Try in a fork, and say how that ended; what can't be put in place needs none."""
        codes = self._functions.codes(job)
        return (
            codes
            if isinstance(codes, TrialReply)
            else settled(job, lambda: self._try(job, codes), self._limits)
        )

    def _tried_at_cut(self, job: Job, line: bytes) -> bytes | None:
        """Have the process at the cut try it, and give its reply as it is; None where there can't be one."""
        if not self._cuts or job.rebuilds or job.target is None:
            return None
        if self._stand is not None and self._stand.is_old:
            self._stand.end()
            self._stand = None
        try:
            if self._stand is None:
                self._stand = CheckpointProcess(self._run_to_cut, self._limits)
        except LostError:
            self._cuts = False
            return None
        return self._stand.ask(line)  # LostError ends the server, as what ends it in another way does

    def _run_to_cut(self, jobs: int, replies: int) -> None:
        """Run the test in the process that will stand at the cut; it comes back only where it did not come there."""
        functions = self._functions
        self._cut = ForkPoint(jobs, replies, self._limits, functions.codes, functions.all())
        self._runner.run()

    def _cuts_alike(self, first: TrialReply) -> bool:
        """Return whether trials can go on from the cut, and the fix gives there what it gives in a whole run."""
        if not self._runner.is_set_up or not all(play.handle.is_swapping for play in self._plays):
            return False
        try:
            self._stand = CheckpointProcess(self._run_to_cut, self._limits)
            fix = Job(id=first.id, variant=first.variant)
            reply = msgspec.json.decode(self._stand.ask(msgspec.json.encode(fix) + b"\n"), type=TrialReply)
        except LostError:
            self._stand = None
            return False
        if msgspec.structs.replace(reply, seconds=first.seconds) == first:
            return True
        self._stand.end()
        self._stand = None
        return False

    def _try(self, job: Job, codes: Codes = []) -> TrialReply:  # noqa: B006 - it is only read
        """Put in place what is to be tried, and run the tests; in the fork."""
        for function, code in codes:
            function.__code__ = code
        if job.variant == "unguarded":
            self._runner.take_down()
            for each in self._items:
                mark(each, swap=None)
        if self._widening is not None and job.variant in {"fix", "mutant"}:
            return self._explore(self._widening, TrialReply(id=job.id, variant=job.variant))
        return self._reply(job, *kind_of(self._runner.run()))

    def _reply(self, job: Job, kind: Kind, said: str) -> TrialReply:
        """Say how the tests ended, and what crossed in them."""
        found = [(self._where(each), each.stash.get(SESSION, None)) for each in self._items]
        plays = [(where, play) for where, play in found if isinstance(play, ReplayedTest)]
        return TrialReply(
            id=job.id,
            variant=job.variant,
            kind=kind,
            said=said,
            given=tuple(given for where, play in plays for given in given_by(play, where)),
            reached={
                f"{swap.old}{where}": tuple(swap.reached)
                for where, play in plays
                for swap in play.handle.swaps
            },
            reran=any(play.handle.reran for _, play in plays),
        )

    def _where(self, item: pytest.Item) -> str:
        """Say of which test a crossing is, where there are several: each counts its crossings from 1."""
        if len(self._items) == 1:
            return ""
        files = {each.path for each in self._items}
        return f" of {item.path.name if len(files) > 1 else ''}::{item.nodeid.partition('::')[2]}"


def limits_of(asked: ServerTask, fix: TrialReply) -> Limits:
    """Return what a trial may take, from what the fix takes; other inputs have limits of their own."""
    if asked.server == "widen":
        return Limits(
            (asked.timeout or max(_LEAST, _TIMES * fix.seconds)) + longest(asked.inputs), asked.memory
        )
    if asked.timeout is not None and fix.seconds > asked.timeout:
        raise UsageError(
            f"with the fix the tests take {fix.seconds:.2g} s, and --timeout gives a trial {asked.timeout:g} s; give it more"
        )
    return Limits(asked.timeout or max(_LEAST, _TIMES * fix.seconds), asked.memory)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("E  ", "ERROR")) and "usage:" not in line]
    told = told or [line for line in lines if ": error: " in line] or lines or ["no reason is given"]
    return told[-1].removeprefix("E  ").removeprefix("ERROR:").strip()[:300]


def say(writing: int, said: Ready | TrialReply) -> None:
    """Say something to who asks."""
    with open(writing, "wb", closefd=False) as file:
        file.write(msgspec.json.encode(said) + b"\n")
