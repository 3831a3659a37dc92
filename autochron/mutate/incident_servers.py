"""The servers that try the mutants of one incident, and the journal of what they replied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias, cast

import msgspec

from autochron.errors import UsageError
from autochron.mutate.fork_server import ForkServer, NoTestsError, ServerPool
from autochron.mutate.journal import Journal
from autochron.mutate.options import StudyOptions, tools_of
from autochron.mutate.prepared_process import PreparedProcess
from autochron.mutate.protocol import Job, Ready, ServerKind, ServerTask, TrialReply
from autochron.mutate.selection import MutantText, job_of
from autochron.mutate.server.libraries import is_in_library

_SERVER = "autochron.mutate.server.main"
_KINDS = 6
"""How many kinds of servers most incidents need, beside baselines."""

Progress: TypeAlias = Callable[[str, str, int, int], None]
"""Is called with the incident, the step, how much of the step is done, and how much there is."""


class IncidentServers:
    """The servers of one incident, each started when it is first needed.

    Attributes:
        reruns: whether the tests run the agent in processes of their own, which do not have the code that is replaced here.
        journal: the replies so far; it is set before anything is asked.
        is_stopped: whether the study is to stop. What is asked then raises KeyboardInterrupt.
    """

    journal: Journal

    def __init__(
        self, folder: Path, display_folder: Path, options: StudyOptions, width: int, progress: Progress
    ) -> None:
        """Take what the servers try.

        Args:
            folder: the incident's folder, absolute.
            display_folder: the folder as it is shown in messages.
            options: how the study is made.
            width: how many servers try mutants at a time.
            progress: is called when something was tried.
        """
        self.reruns = False
        self._prepared: PreparedProcess | None = None
        self.is_stopped = False
        self._folder = folder
        self._name = folder.name
        self._display_folder = display_folder
        self._options = options
        self._width = width
        self._progress = progress
        self._pools: dict[tuple[str, bool], ServerPool] = {}
        self._fork_server: ForkServer | None = None

    def stop(self) -> None:
        """Stop what is tried now."""
        self.is_stopped = True
        for pool in list(self._pools.values()):
            pool.end()

    def end(self) -> None:
        """End all processes."""
        for pool in self._pools.values():
            pool.end()
        if self._fork_server is not None:
            self._fork_server.end()
        self._drop_prepared()

    @property
    def is_prepared(self) -> bool:
        """Whether processes of tests are forks of one that has imported what the agent needs."""
        return self._prepared is not None

    def rerun(self, cut: Ready) -> str:
        """Have the tests' processes be forks of a prepared one from now on, if the fix gives the same reply there.

        Args:
            cut: the `Ready` of the server that starts each process anew.

        Returns:
            Why each of these forks runs the whole agent; empty where they go on from the cut, or where there are none.
        """
        self.reruns = True
        fix = cut.fix_reply()
        if any(is_in_library(str(self._folder / target.file)) for target in cut.targets):
            return ""  # libraries are imported before there is a mutant
        self._prepared = PreparedProcess(fix.hash_seed)
        self._end_pool("cut")
        try:
            ready = self.pool_for("cut").first()
        except UsageError:
            ready = Ready(fix=TrialReply(id="fix", variant="fix", kind="crash"))
        if msgspec.structs.replace(ready.fix_reply(), seconds=fix.seconds) == fix:
            return ready.why_whole
        self._end_pool("cut")
        self._drop_prepared()
        return ""

    def _end_pool(self, server: str) -> None:
        """End the servers of a kind; the next that are asked for start with what is known by then."""
        pool = self._pools.pop((server, False), None)
        if pool is not None:
            pool.end()

    def _drop_prepared(self) -> None:
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.end()

    def has_tried(self, server: str) -> bool:
        """Return whether a server of a kind was started, and not every reply came from the journal."""
        return (server, False) in self._pools

    def ready_of(self, server: ServerKind) -> Ready:
        """Return the `Ready` of a kind of server: from the journal, or from a server that is started."""
        journaled = self.journal.ready(server)
        if journaled is not None:
            return journaled
        try:
            ready = self.pool_for(server).first()
        except UsageError as error:
            raise UsageError(f"{self._display_folder}: {error.message}") from error
        self.journal.began(server, ready)
        return ready

    def ready_if_tests(self, server: str) -> Ready:
        """Return the `Ready` of a kind of server; it has a fault where the folder has no tests for it."""
        ready = self.journal.ready(server)
        if ready is None:
            try:
                ready = self.pool_for(server).first()
            except NoTestsError as error:
                ready = Ready(fault=error.message, lacks_tests=True)
            except UsageError as error:
                raise UsageError(f"{self._display_folder}: {error.message}") from error
            self.journal.began(server, ready)
        return ready

    def try_all(
        self, server: str, mutants: Sequence[MutantText], done: int, total: int
    ) -> dict[str, TrialReply]:
        """Have mutants tried by one kind of server, but for those whose reply is in the journal.

        Args:
            server: the kind of server.
            mutants: the mutants.
            done: how many trials were done before these; for the progress only.
            total: how many trials there are in all; for the progress only.

        Returns:
            The replies, by the mutants' ids.
        """
        replies = {
            mutant_text.mutant.id: journaled
            for mutant_text in mutants
            if (journaled := self.journal.reply(server, mutant_text.mutant.id)) is not None
        }
        by_id = {mutant_text.mutant.id: mutant_text for mutant_text in mutants}

        def on_reply(reply: TrialReply) -> None:
            if self.is_stopped:
                return
            if reply.must_rebuild:
                to_rebuild.append(reply.id)
                return
            self.journal.tried(server, reply)
            replies[reply.id] = reply
            self._progress(self._name, server, done + len(replies), total)

        to_rebuild: list[str] = []
        jobs = [job_of(mutant_text) for mutant_text in mutants if mutant_text.mutant.id not in replies]
        if jobs:
            self.pool_for(server).run(jobs, on_reply)
        for mutant in to_rebuild:
            on_reply(self.try_one(server, job_of(by_id[mutant]), keeps=False))
        if self.is_stopped:
            raise KeyboardInterrupt
        return replies

    def try_one(self, server: str, job: Job, *, keeps: bool = True) -> TrialReply:
        """Have a job tried, and return the reply; where its code can't be replaced, the modules are loaded anew.

        Args:
            server: the kind of server.
            job: what is tried.
            keeps: whether the reply is taken from the journal, and kept in it.

        Raises:
            UsageError: it can't be tried even with the modules loaded anew.
        """
        reply = self.journal.reply(server, job.id) if keeps else None
        if reply is None:
            reply = self.pool_for(server).ask(job)
            if reply.must_rebuild:
                reply = self.pool_for(server, rebuilds=True).ask(job)
                if reply.must_rebuild:
                    raise UsageError(f"{self._display_folder}: {job.id} can't be tried: {reply.must_rebuild}")
            if keeps:
                self.journal.tried(server, reply)
        return reply

    def pool_for(self, method: str, *, rebuilds: bool = False) -> ServerPool:
        """Return the servers that try a kind of tests, or a baseline."""
        key = (method, rebuilds)
        if key not in self._pools:
            cut = self.journal.ready("cut")
            server: ServerKind = "mocks"
            paths = [
                self._folder / file for name, file in self._options.baselines if baseline_key(name) == method
            ]
            if not paths:
                server = cast("ServerKind", method)
                paths = sorted(self._folder.glob("test_*.py"))
            task = ServerTask(
                server=server,
                paths=tuple(map(str, paths)),
                folder=str(self._folder),
                memory=self._options.memory,
                timeout=self._options.timeout,
                targets=tools_of(self._options.tools) if cut is None else cut.targets,
                depth=self._options.depth,
                swaps={} if cut is None or server != "mocks" else cut.swaps,
                inputs=self._options.inputs,
                drawn=self._options.drawn,
                rebuilds=rebuilds,
                reruns=self.reruns,
                prepared="" if self._prepared is None else self._prepared.address,
            )
            self._pools[key] = ServerPool(self._start_fork_server(), task, self._width)
        if self.is_stopped:
            raise KeyboardInterrupt
        return self._pools[key]

    def _start_fork_server(self) -> ForkServer:
        if self._fork_server is None:
            kinds = _KINDS + len(self._options.baselines)
            self._fork_server = ForkServer(_SERVER, str(self._folder), kinds * self._width)
        return self._fork_server


def baseline_key(name: str) -> str:
    """Return the key of a baseline's servers, in the journal, too."""
    return f"baseline {name}"
