"""The trials of one server: the incident's tests are collected once, and run in a fork for each mutant."""

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
from autochron.errors import AutochronError, PlanError
from autochron.instrument import source_overlay
from autochron.instrument.swap import Swap
from autochron.isolation.tls import defer_ca_loading
from autochron.mutate.model import Kind, MutationTarget
from autochron.mutate.protocol import Job, Ready, ServerTask, TrialReply, digest_of
from autochron.mutate.server.canary_flag import has_run
from autochron.mutate.server.checkpoint import CheckpointLostError, CheckpointProcess, Codes, ForkPoint
from autochron.mutate.server.edge_inputs import EdgeInputs, with_findings
from autochron.mutate.server.endings import first_line, kind_of, kind_of_end, reason_in, run_trial
from autochron.mutate.server.marked_tests import (
    change_marker,
    part_of,
    part_tried_by,
    replayed_test_of,
)
from autochron.mutate.server.outcomes import live_outcomes, recorded_literals, recorded_outcomes, swaps_of
from autochron.mutate.server.phases import PhaseRunner
from autochron.mutate.server.preload import (
    file_of,
    modules_imported_by,
    preload,
    prepare_masking,
    pytest_arguments,
)
from autochron.mutate.server.rerun_requests import RerunInputs
from autochron.mutate.server.targets import TargetFunctions, targets_of
from autochron.mutate.server.trial_limits import FIRST_LIMIT, limits_of
from autochron.pytest_plugin import MARKER, PREPARED, SESSION
from autochron.pytest_plugin.marks import EXAMPLE
from autochron.pytest_plugin.sessions import ReplayedTest
from autochron.workers.fork import forked
from autochron.workers.limits import Limits, has_grown
from autochron.workers.prepared import FROM_CUT


class Trials:
    """A pytest plugin that tries mutants instead of running the collected tests once."""

    def __init__(self, task: ServerTask, jobs: BinaryIO | None, writing: int) -> None:
        """Take the task and the pipes of the server.

        Args:
            task: what the server tries.
            jobs: the pipe that jobs are read from; None where a subclass runs one job.
            writing: the descriptor that replies are written to; not used without `jobs`.
        """
        self._task = task
        self._jobs = jobs
        self._writing = writing
        self._fault = ""
        self._items: list[pytest.Item] = []
        self._tests: list[ReplayedTest] = []
        self._swaps: dict[str, str] = {}
        self._helpers = 0
        self._functions = TargetFunctions(task.folder)
        self._runner = PhaseRunner(())
        self._limits = Limits(FIRST_LIMIT, task.memory)
        self._edge_inputs: EdgeInputs | None = None
        self._rerun_inputs: RerunInputs | None = None
        self._is_served = False
        self._uses_checkpoint = False
        """Whether trials continue from the checkpoint."""
        self._why_whole = ""
        self._checkpoint: CheckpointProcess | None = None
        self._fork_point: ForkPoint | None = None
        """Set in the process that runs up to the checkpoint, and in its trials."""
        self._loaded: dict[str, str] = {}
        """The file of each module that the first trial imported."""

    # --- collecting ------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Install the swaps that tests without a trace need before they are imported."""
        for old, new in self._task.swaps.items():
            try:
                Swap(old, new, self._task.folder).install()
            except Exception as error:  # raised by a module that is imported here
                raise pytest.UsageError(f"{new} can't be installed as {old}: {first_line(error)}") from error

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep the reason why a module could not be collected."""
        if report.failed and not self._fault:
            self._fault = (
                f"{report.nodeid or 'the tests'} can't be collected: {reason_in(str(report.longrepr))}"
            )

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Keep the reason why pytest itself failed."""
        self._fault = self._fault or f"pytest can't go on: {first_line(excinfo.value)}"

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests of the part that is tried, or for `mocks` those that replay no trace."""
        part = part_tried_by(self._task.server)
        items[:] = [item for item in items if part_of(item) == part]
        if self._task.server == "stub":
            for item in items:
                change_marker(item, live=(), swap=None)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Prepare, send a `Ready`, and answer each job with a reply until there are no more jobs."""
        if not self._take(session):
            return True  # `end` reports the reason
        try:
            ready = self._prepare()
        except AutochronError as error:
            self._fault = error.message
            return True
        self._is_served = True
        send(self._writing, ready)
        for line in self._jobs or ():
            job = msgspec.json.decode(line, type=Job)
            reply = self._try_at_checkpoint(job, line)
            if reply is None:
                send(self._writing, self._try_in_fork(job))
            else:
                os.write(self._writing, reply)
        return True

    def _take(self, session: pytest.Session) -> bool:
        """Keep the collected tests, and return whether there are any that can be run."""
        self._items = session.items
        self._runner = PhaseRunner(self._items)
        return bool(self._items) and not session.testsfailed

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        """Stop the test at the checkpoint, and end a trial that continues from there once the test has run."""
        test = pyfuncitem.stash.get(SESSION, None)
        if self._fork_point is None or not isinstance(test, ReplayedTest):
            return (yield)
        replayer = test.handle.session
        self._fork_point.watch(replayer, replayer.activation.project, replayer.swaps)
        result: Any = None
        raised: BaseException | None = None
        try:
            result = yield
        except BaseException as error:
            raised = error
        if self._fork_point.is_in_trial:
            # Without the other plugins: none of them does anything for a plain test, and each copies pages of the server.
            try:
                test.end(raised)
            except BaseException as error:
                raised = error
            is_skipped = isinstance(raised, pytest.skip.Exception)
            kind, reason = kind_of(None if is_skipped else raised)
            self._fork_point.report(lambda job: self._reply(job, kind, reason))
        if raised is not None:
            raise raised
        return result

    def end(self, status: int) -> None:
        """Send the reason why nothing can be tried, unless jobs have been served.

        Args:
            status: the exit status of pytest.
        """
        if self._is_served:
            return
        wanted = f"there is no test marked {MARKER} in {{}}; mark what replays a trace: {EXAMPLE}"
        if self._task.server == "mocks":
            wanted = "there is no test without a trace in {}"
        elif self._task.server in {"twin", "edges"}:
            wanted = f'there is no test marked part="{self._task.server}" in {{}}'
        no_tests = wanted.format(", ".join(os.path.basename(path) for path in self._task.paths))
        lacks_tests = not self._fault and status in {0, 5}
        fault = no_tests if lacks_tests else self._fault or self._reason_of(status)
        send(self._writing, Ready(fault=fault, lacks_tests=lacks_tests))

    def _reason_of(self, status: int) -> str:
        """Run pytest once more and return why it does not start: it writes that to its standard error only."""
        output = io.StringIO()
        with redirect_stderr(output), redirect_stdout(io.StringIO()):
            pytest.main([*pytest_arguments(self._task), "--collect-only"])
        return f"pytest ends with status {status} there: {reason_in(output.getvalue())}"

    # --- preparing ------------------------------------------------------------------------------------------------

    def _weave(self) -> tuple[MutationTarget, ...]:
        """Weave as the tests will, and return the functions to mutate."""
        if self._task.server != "mocks":
            self._tests = [replayed_test_of(item) for item in self._items]
        for test in self._tests:
            self._swaps |= swaps_of(test)
        targets, self._helpers = targets_of(self._task, self._tests)
        for target in targets:
            self._functions.find(target)
        if self._task.server == "widen" and self._task.reruns:
            suffixes = map(self._suffix_of, self._items)
            self._rerun_inputs = RerunInputs(
                self._task, list(zip(self._items, self._tests, suffixes, strict=True)), targets
            )
        elif self._task.server == "widen":
            self._edge_inputs = self._make_edge_inputs()
        return targets

    def _prepare(self) -> Ready:
        """Weave and import, before any fork, what each trial would have to, and try the fix."""
        try:
            targets = self._weave()
        except AutochronError:
            raise
        except (Exception, SystemExit) as error:  # raised by a module that is imported here
            raise PlanError(f"what it tests can't be imported: {first_line(error)}") from error
        fix = Job(id="fix", variant="fix")
        before = set(sys.modules)
        ended = forked(
            lambda _: msgspec.json.encode(modules_imported_by(lambda: self._run_job(fix), before)),
            self._limits,
        )
        if not ended.is_whole:
            raise PlanError(f"the test can't be tried: {kind_of_end(ended, self._limits)[1]}")
        self._loaded = msgspec.json.decode(ended.output, type=dict[str, str])
        preload(self._loaded, self._task.folder)
        defer_ca_loading()
        self._functions.parse()
        for item, test in zip(self._items, self._tests, strict=False):
            test.handle.prepare()
            prepare_masking(test)
            if not self._has_inputs:  # those trials change the markers, so each prepares its own
                # The fork of a trial ends with its last test, so that nobody sees what that one has changed.
                test.restores_globals = item is not self._items[-1]
                item.stash[PREPARED] = test
        if not self._has_inputs:
            self._runner.set_up()
        gc.collect()
        gc.freeze()
        has_grown()
        fix_reply = self._try_in_fork(fix)
        reruns_whole = self._why_reruns_whole(fix_reply) if self._task.prepared else ""
        for inputs in (self._edge_inputs, self._rerun_inputs):
            if inputs is not None:
                inputs.learn_from(fix_reply)
        self._limits = limits_of(self._task, fix_reply)
        self._uses_checkpoint = self._checkpoint_agrees(fix_reply)
        if self._task.prepared:
            self._why_whole = reruns_whole
        return self._ready(targets, fix_reply)

    @property
    def _has_inputs(self) -> bool:
        """Whether trials try edge inputs."""
        return self._edge_inputs is not None or self._rerun_inputs is not None

    def _ready(self, targets: tuple[MutationTarget, ...], fix_reply: TrialReply) -> Ready:
        return Ready(
            tests=len(self._items),
            swaps=self._swaps,
            targets=targets,
            helpers=self._helpers,
            literals=recorded_literals(self._task, self._tests, targets),
            recorded=tuple(
                outcome
                # Not strict: for items without a trace there are no replayed tests.
                for item, test in zip(self._items, self._tests, strict=False)
                for outcome in recorded_outcomes(test, self._suffix_of(item))
            ),
            fix=fix_reply,
            limit=self._limits.seconds,
            process=os.getpid(),
            files=self._files(),
            at_cut=self._uses_checkpoint or (bool(self._task.prepared) and not self._why_whole),
            why_whole=self._why_whole,
        )

    def _files(self) -> dict[str, str]:
        """Return the digests of the project's loaded files, by path from the incident's folder."""
        home = os.path.realpath(self._task.folder)
        roots = {home, *(os.path.realpath(test.root) for test in self._tests)}
        paths = {
            os.path.realpath(file)
            for file in (*map(file_of, list(sys.modules)), *self._loaded.values())
            if file
        }
        paths |= self._functions.paths()
        libraries = os.path.realpath(sys.prefix) + os.sep
        own_paths = [
            path
            for path in paths
            if not path.startswith(libraries) and any(path.startswith(root + os.sep) for root in roots)
        ]
        return {
            os.path.relpath(path, home).replace(os.sep, "/"): digest_of(path) for path in sorted(own_paths)
        }

    def _make_edge_inputs(self) -> EdgeInputs:
        """Return the edge inputs of the targets, and change the markers so that each target has a swap.

        A test without a swap gets one that replaces each target with itself. A function inside a function can't be named in
        one, so that it gets no edge inputs.
        """
        functions = self._functions.all()
        for item, test in zip(self._items, self._tests, strict=True):
            if not test.options.swap:
                identity_swaps = {
                    f"{function.__code__.co_filename}:{function.__code__.co_qualname}": function
                    for function in functions
                    if "<locals>" not in function.__code__.co_qualname
                }
                change_marker(item, swap=identity_swaps)
        self._tests = [replayed_test_of(item) for item in self._items]
        return EdgeInputs(functions, self._task)

    def _explore(self, edge_inputs: EdgeInputs, reply: TrialReply) -> TrialReply:
        """Run the tests with other inputs at each call of a target, and return the reply; runs in the fork."""
        explorers = []
        for item, test in zip(self._items, self._tests, strict=True):
            swaps: dict[str, Any] = {}
            replacements = {old: Swap(old, new, test.root) for old, new in (test.options.swap or {}).items()}
            short_names = [swap.qualname.rpartition(".")[2] for swap in replacements.values()]
            names = [swap.qualname for swap in replacements.values()]
            for (old, swap), short_name in zip(replacements.items(), short_names, strict=True):
                target = self._functions.target_of(swap.function())
                if short_names.count(short_name) == 1:
                    name = short_name
                else:
                    unique = names.count(swap.qualname) == 1
                    name = swap.qualname if unique else f"{target.file}:{target.function}"
                label = (name, self._suffix_of(item))
                explorers.append(edge_inputs.explorer(swap.function(), target, label, test.root))
                swaps[old] = explorers[-1].callable()
            change_marker(item, swap=swaps)
        kind, reason = kind_of(self._runner.run())
        return with_findings(
            msgspec.structs.replace(reply, kind=kind, said=reason), explorers, edge_inputs.constants()
        )

    # --- trials ----------------------------------------------------------------------------------------------------

    def _try_in_fork(self, job: Job) -> TrialReply:
        """Run the whole test in a fork, and return the reply; a job that has no code to run needs no fork."""
        codes = self._codes(job)
        return (
            codes
            if isinstance(codes, TrialReply)
            else run_trial(job, lambda: self._run_job(job, codes), self._limits)
        )

    def _codes(self, job: Job) -> Codes | TrialReply:
        """Return the code of each function that a job changes in this process, or a reply where there can be none.

        Where the agent has a process of its own, a module that is not loaded here needs no code.
        """
        codes = self._functions.codes(job)
        if (
            isinstance(codes, TrialReply)
            and codes.must_rebuild
            and self._task.reruns
            and job.target is not None
        ):
            path = os.path.realpath(os.path.join(self._task.folder, job.target.file))
            files = filter(None, map(file_of, list(sys.modules)))
            alike = [file for file in files if os.path.basename(file) == os.path.basename(path)]
            if path not in map(os.path.realpath, alike):
                return []
        return codes

    def _try_at_checkpoint(self, job: Job, line: bytes) -> bytes | None:
        """Return the reply that the checkpoint process gives to a job, or None where the whole test must be run.

        Args:
            job: what is tried.
            line: the job as it was read.

        Returns:
            The reply as a line of JSON.

        Raises:
            CheckpointLostError: the process ended during the trial. The server then ends, and whoever gave the job sees
                that.
        """
        if not self._uses_checkpoint or job.rebuilds or job.target is None:
            return None
        if self._checkpoint is not None and self._checkpoint.is_expired:
            self._checkpoint.end()
            self._checkpoint = None
        try:
            if self._checkpoint is None:
                self._checkpoint = CheckpointProcess(self._run_to_checkpoint, self._limits)
        except CheckpointLostError:
            self._uses_checkpoint = False
            return None
        return self._checkpoint.ask(line)

    def _run_to_checkpoint(self, jobs: int, replies: int) -> None:
        """Run the test in the checkpoint process. It returns only if the test never came to the checkpoint."""
        functions = self._functions
        self._fork_point = ForkPoint(jobs, replies, self._limits, functions.codes, functions.all())
        self._runner.run()

    def _checkpoint_agrees(self, fix_reply: TrialReply) -> bool:
        """Return whether the fix gives the same reply from the checkpoint as in a whole run."""
        if not self._runner.is_set_up:
            self._why_whole = self._runner.obstacle()
            return False
        if not all(test.handle.is_swapping for test in self._tests):
            self._why_whole = "the test swaps nothing in"
            return False
        try:
            self._checkpoint = CheckpointProcess(self._run_to_checkpoint, self._limits)
            fix = Job(id=fix_reply.id, variant=fix_reply.variant)
            reply = msgspec.json.decode(
                self._checkpoint.ask(msgspec.json.encode(fix) + b"\n"), type=TrialReply
            )
        except CheckpointLostError as error:
            self._checkpoint = None
            self._why_whole = str(error) or "the test does not call it in this process"
            return False
        if msgspec.structs.replace(reply, seconds=fix_reply.seconds) == fix_reply:
            return True
        self._why_whole = "the fix gives another result from there"
        self._checkpoint.end()
        self._checkpoint = None
        return False

    def _why_reruns_whole(self, fix_reply: TrialReply) -> str:
        """Have the agent's processes go on from a checkpoint of their own, and return why they don't, if so."""
        os.environ[FROM_CUT] = "1"
        reply = self._try_in_fork(Job(id=fix_reply.id, variant=fix_reply.variant))
        if msgspec.structs.replace(reply, seconds=fix_reply.seconds, why_whole="") == fix_reply:
            return reply.why_whole
        del os.environ[FROM_CUT]
        return "the fix gives another result from there"

    def _run_job(self, job: Job, codes: Codes = []) -> TrialReply:  # noqa: B006 - it is only read
        """Put a job's code in place, run the tests, and return the reply; runs in the fork."""
        for function, code in codes:
            function.__code__ = code
        if self._task.reruns and job.target is not None:
            source_overlay.lay(os.path.join(self._task.folder, job.target.file), job.text)
        if job.variant == "unguarded":
            self._runner.take_down()
            for item in self._items:
                change_marker(item, swap=None)
        if self._edge_inputs is not None and job.variant in {"fix", "mutant"}:
            return self._explore(self._edge_inputs, TrialReply(id=job.id, variant=job.variant))
        if self._rerun_inputs is not None and job.variant in {"fix", "mutant"}:
            return self._rerun_inputs.explore(lambda: self._reply(job, *kind_of(self._runner.run())))
        return self._reply(job, *kind_of(self._runner.run()))

    def _reply(self, job: Job, kind: Kind, reason: str) -> TrialReply:
        """Return the reply of a trial: how the tests ended, and what crossed in them."""
        stashed = [(self._suffix_of(item), item.stash.get(SESSION, None)) for item in self._items]
        replayed = [(suffix, test) for suffix, test in stashed if isinstance(test, ReplayedTest)]
        return TrialReply(
            id=job.id,
            variant=job.variant,
            kind=kind,
            said=reason,
            given=tuple(outcome for suffix, test in replayed for outcome in live_outcomes(test, suffix)),
            reached={
                f"{swap.old}{suffix}": tuple(swap.reached)
                for suffix, test in replayed
                for swap in test.handle.swaps
            },
            harms=tuple(
                test.handle.world.reason or "" for _, test in replayed if test.handle.world is not None
            ),
            canary_ran=has_run(),
            reran=any(test.handle.reran for _, test in replayed),
            why_whole=next((test.handle.why_whole for _, test in replayed if test.handle.why_whole), ""),
            hash_seed=next(
                (test.handle.planned()[0].header.hash_seed for _, test in replayed if test.handle.reran), ""
            ),
        )

    def _suffix_of(self, item: pytest.Item) -> str:
        """Return what tells the addresses of a test from those of others; empty where there is only one test."""
        if len(self._items) == 1:
            return ""
        files = {other.path for other in self._items}
        return f" of {item.path.name if len(files) > 1 else ''}::{item.nodeid.partition('::')[2]}"


def send(descriptor: int, message: Ready | TrialReply) -> None:
    """Write a message to a pipe, as a line of JSON."""
    with open(descriptor, "wb", closefd=False) as file:
        file.write(msgspec.json.encode(message) + b"\n")
