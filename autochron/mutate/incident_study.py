"""The mutation study of one incident: its mutants are made and tried by every method, and scored."""

from __future__ import annotations

import difflib
import hashlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from autochron._runtime.unpatched import os
from autochron.errors import UsageError
from autochron.mutate import scoring
from autochron.mutate.agreement import by_cosmic_ray, obstacle
from autochron.mutate.canary import canary_source
from autochron.mutate.fork_server import ForkServer, NoTestsError, ServerPool
from autochron.mutate.generating import Generated, generate, mutated
from autochron.mutate.journal import Journal
from autochron.mutate.merging import in_order
from autochron.mutate.model import (
    Canary,
    Crosscheck,
    Kind,
    Mutant,
    MutationTarget,
    Result,
    StudiedIncident,
)
from autochron.mutate.options import Argued, StudyOptions, digest_of_sources, tools_of
from autochron.mutate.protocol import Job, Ready, ServerKind, ServerTask, TrialReply, digest_of
from autochron.mutate.selection import MutantText, is_in_shard, job_of, sample
from autochron.mutate.sets import OperatorSet

_SERVER = "autochron.mutate.server.main"

Progress = Callable[[str, str, int, int], None]
"""Is called with the incident, the step, how much of the step is done, and how much there is."""


class IncidentStudy:
    """The study of one incident.

    Attributes:
        folder: the incident's folder, absolute.
        name: the name of the folder.
        made_of: a digest of the folder's files, the operators and the options.
        digest: the same with the digests of all files that the tests loaded, once these are known.
    """

    def __init__(
        self, folder: Path, operators: OperatorSet, options: StudyOptions, width: int, progress: Progress
    ) -> None:
        """Take what is studied.

        Args:
            folder: the incident's folder, as it is shown in messages.
            operators: the operators.
            options: how the study is made.
            width: how many servers try mutants at a time.
            progress: is called when something was tried.
        """
        self.folder = folder.resolve()
        self.name = self.folder.name
        self._display_folder = folder
        self._operators = operators
        self._options = options
        self._width = width
        self._progress = progress
        self._pools: dict[tuple[ServerKind, bool], ServerPool] = {}
        self._fork_server: ForkServer | None = None
        self._reruns = False
        """Whether the tests run the agent in processes of their own, which do not have the code that is replaced here."""
        self._is_stopped = False
        self.digest = self.made_of = digest_of_sources(self.folder, operators, options)
        self._sources: dict[str, str] = {}
        self._accepts_raising = False

    def stop(self) -> None:
        """Stop the study soon; `run` then raises KeyboardInterrupt."""
        self._is_stopped = True
        for pool in list(self._pools.values()):
            pool.end()

    def run(self) -> StudiedIncident:
        """Make the study, and return its results.

        Raises:
            UsageError: the incident can't be studied.
            KeyboardInterrupt: `stop` was called.
        """
        key = f"{self.digest} {sys.version_info[0]}.{sys.version_info[1]} {self._options.shard}"
        self._progress(self.name, "fix", 0, 0)
        self._journal = Journal(os.path.join(self._options.out, "journal", f"{self.name}.jsonl"), key)
        try:
            return self._run_study()
        finally:
            for pool in self._pools.values():
                pool.end()
            if self._fork_server is not None:
                self._fork_server.end()
            self._journal.close()

    def _run_study(self) -> StudiedIncident:
        journaled = self._journal.ready("cut")
        if journaled is not None and not self._files_are_unchanged(journaled):
            self._journal.forget()
        cut = self._ready_of("cut")
        file_digests = msgspec.json.encode(sorted(cut.files.items()))
        self.digest = hashlib.sha256(self.digest.encode() + file_digests).hexdigest()[:16]
        fix = self._passing_fix(cut)
        self._reruns = fix.reran
        generated = [self._generate(target) for target in cut.targets]
        for of_target, target in zip(generated, cut.targets, strict=True):
            self._sources[target.file] = of_target.source
        mutants = [
            MutantText(mutant, mutated(of_target.source, mutant))
            for of_target in generated
            for mutant in of_target.mutants
            if is_in_shard(mutant.id, self._options.shard)
        ]
        self._refuse_unknown_ids({mutant.id for of_target in generated for mutant in of_target.mutants})
        sampled = sample(mutants, self._options.sample) if self._options.sample else []
        not_compared = self._obstacle(cut.targets, sampled)
        baseline = self._baseline(cut, fix)
        canaries = self._canaries(cut, baseline)
        replies = self._collect_replies(mutants, baseline)
        results = [
            self._score(mutant_text, replies[mutant_text.mutant.id], baseline) for mutant_text in mutants
        ]
        self._refuse_flaky(fix)
        inputs, sensitivity = scoring.summarize_inputs(baseline, results)
        return StudiedIncident(
            name=self.name,
            targets=cut.targets,
            sources=dict(self._sources),
            generated=sum(of_target.generated for of_target in generated),
            same_bytecode=sum(of_target.same_bytecode for of_target in generated),
            duplicates=sum(of_target.duplicates for of_target in generated),
            canaries=canaries,
            inputs=inputs,
            states=scoring.states_of(baseline.widened),
            sensitivity=sensitivity,
            results=in_order(results),
            agreement=() if not_compared else self._agreement(sampled, results),
            has_predicate=bool(baseline.fix.harms),
            accepts_raising=self._accepts_raising,
            not_compared=not_compared,
            made_of=self.made_of,
        )

    def _passing_fix(self, cut: Ready) -> TrialReply:
        """Return the reply of the fix.

        Raises:
            UsageError: the tests fail with the fix.
        """
        fix = cut.fix_reply()
        if fix.kind != "passed":
            raise UsageError(
                f"{self._display_folder}: its test fails before anything is mutated ({fix.said}); mend that first, with"
                f" `pytest {self._display_folder}`"
            )
        return fix

    def _score(
        self, mutant_text: MutantText, trials: scoring.MutantReplies, baseline: scoring.FixBaseline
    ) -> Result:
        """Return the result of one mutant, with the user's explanations."""
        arguments = self._options.arguments
        return scoring.score(
            mutant_text.mutant,
            trials,
            baseline,
            self._diff(mutant_text),
            proof=self._explanation(arguments.equivalent, mutant_text.mutant),
            why=self._explanation(arguments.survivor, mutant_text.mutant),
        )

    def _files_are_unchanged(self, ready: Ready) -> bool:
        """Return whether the files that the tests loaded are unchanged; some may lie outside the incident's folder."""
        return all(digest_of(str(self.folder / path)) == digest for path, digest in ready.files.items())

    def _generate(self, target: MutationTarget) -> Generated:
        everything = self._options.everything
        try:
            return generate(self.folder, self.name, target, self._operators, everything=everything)
        except UsageError as error:
            raise UsageError(f"{self._display_folder}: {error.message}") from error

    # --- processes ---------------------------------------------------------------------------------------------------

    def _pool_for(self, server: ServerKind, *, rebuilds: bool = False) -> ServerPool:
        key = (server, rebuilds)
        if key not in self._pools:
            cut = self._journal.ready("cut")
            task = ServerTask(
                server=server,
                paths=tuple(str(file) for file in sorted(self.folder.glob("test_*.py"))),
                folder=str(self.folder),
                memory=self._options.memory,
                timeout=self._options.timeout,
                targets=tools_of(self._options.tools) if cut is None else cut.targets,
                swaps={} if cut is None or server != "mocks" else cut.swaps,
                inputs=self._options.inputs,
                drawn=self._options.drawn,
                rebuilds=rebuilds,
                reruns=self._reruns and server == "widen",
            )
            self._pools[key] = ServerPool(self._start_fork_server(), task, self._width)
        if self._is_stopped:
            raise KeyboardInterrupt
        return self._pools[key]

    def _start_fork_server(self) -> ForkServer:
        if self._fork_server is None:
            self._fork_server = ForkServer(_SERVER, str(self.folder), 4 * self._width)
        return self._fork_server

    def _ready_of(self, server: ServerKind) -> Ready:
        """Return the `Ready` of a kind of server: from the journal, or from a server that is started."""
        journaled = self._journal.ready(server)
        if journaled is not None:
            return journaled
        try:
            ready = self._pool_for(server, rebuilds=self._reruns and server == "widen").first()
        except UsageError as error:
            raise UsageError(f"{self._display_folder}: {error.message}") from error
        self._journal.began(server, ready)
        return ready

    def _baseline(self, cut: Ready, fix: TrialReply) -> scoring.FixBaseline:
        """Try the fix by each method, and by the cut-point test three times."""
        second = self._try_one("cut", Job(id="again", variant="fix"))
        # Directly one after the other: between other trials, a test that fails every second time could pass by chance.
        for repeated in (second, self._try_one("cut", Job(id="and again", variant="fix"))):
            if repeated.kind != fix.kind:
                raise UsageError(_flaky_message(self._display_folder, fix, repeated))
        return scoring.FixBaseline(
            fix=fix,
            recorded=cut.recorded,
            stub=self._ready_of("stub").fix_reply().kind,
            mocks=self._mocks_kind(),
            widened=self._ready_of("widen").fix_reply(),
            volatile=scoring.volatile_places(fix, second),
            chance=scoring.volatile_sorts(fix, second),
        )

    def _mocks_kind(self) -> Kind | None:
        """Return how the tests without a trace end with the fix; None where there are no such tests."""
        ready = self._journal.ready("mocks")
        if ready is None:
            try:
                ready = self._pool_for("mocks").first()
            except NoTestsError as error:
                ready = Ready(fault=error.message, lacks_tests=True)
            except UsageError as error:
                raise UsageError(f"{self._display_folder}: {error.message}") from error
            self._journal.began("mocks", ready)
        return None if ready.fault else ready.fix_reply().kind

    # --- trials --------------------------------------------------------------------------------------------------------

    def _canaries(self, cut: Ready, baseline: scoring.FixBaseline) -> tuple[Canary, ...]:
        """Try what has a result that is known beforehand.

        Raises:
            UsageError: a canary has another result.
        """
        canaries = [Canary("the fix", "cut-point", "passes", _passes_or_fails(baseline.fix))]
        if baseline.mocks is not None:
            mocks = "passes" if baseline.mocks == "passed" else baseline.mocks
            canaries.append(Canary("the fix", "mocks", "passes", mocks))
        for index, target in enumerate(cut.targets):
            text = canary_source(self._sources[target.file], target.function)
            job = Job(id=f"raises-{index}", variant="raises", target=target, text=text)
            description = f"{target.function} raises"
            raising = _passes_or_fails(self._try_one("cut", job))
            if raising == "passes" and baseline.fix.harms:
                self._accepts_raising = True
            else:
                canaries.append(Canary(description, "cut-point", "fails", raising))
            stub = self._try_one("stub", job)
            served = "as with the fix"
            result = (
                served if stub.kind == baseline.stub else f"{stub.kind}, and {baseline.stub} with the fix"
            )
            canaries.append(Canary(description, "full-stub", served, result))
        if cut.swaps:
            job = Job(id="unguarded", variant="unguarded")
            unguarded = self._try_one("cut", job)
            what = "the function without the fix"
            canaries.append(Canary(what, "cut-point", "fails", _passes_or_fails(unguarded)))
            if baseline.fix.harms:
                is_unsafe = any(unguarded.harms)
                canaries.append(Canary(what, "predicate", "unsafe", "unsafe" if is_unsafe else "safe"))
        broken = next((canary for canary in canaries if not canary.holds), None)
        if broken is not None:
            raise UsageError(
                f"{self._display_folder}: no report, because a canary failed: {broken.what}: {broken.method} {broken.got},"
                f" expected: {broken.expected}; {_REMEDY.get(broken.method, _REMEDY_ELSE)}"
            )
        return tuple(canaries)

    def _collect_replies(
        self, mutants: Sequence[MutantText], baseline: scoring.FixBaseline
    ) -> dict[str, scoring.MutantReplies]:
        """Have every mutant tried: by each method that runs the tests, and the survivors with edge inputs."""
        servers: list[ServerKind] = ["cut", "stub"]
        if baseline.mocks is not None:
            servers.append("mocks")
        total = len(mutants) * len(servers)
        done = 0
        replies: dict[ServerKind, dict[str, TrialReply]] = {}
        for server in servers:
            replies[server] = self._try_all(server, mutants, done, total)
            done += len(mutants)
        survivors = [
            mutant_text
            for mutant_text in mutants
            if replies["cut"][mutant_text.mutant.id].kind == "passed"
            and not any(
                (change.address, change.path) not in baseline.volatile
                for change in scoring.differences(
                    baseline.fix.given, replies["cut"][mutant_text.mutant.id].given
                )
            )
        ]
        widened = (
            {}
            if baseline.widened is None
            else self._try_all("widen", survivors, done, total + len(survivors))
        )
        return {
            mutant_text.mutant.id: scoring.MutantReplies(
                cut=replies["cut"][mutant_text.mutant.id],
                stub=replies["stub"][mutant_text.mutant.id],
                mocks=replies["mocks"][mutant_text.mutant.id] if "mocks" in replies else None,
                widened=widened.get(mutant_text.mutant.id),
            )
            for mutant_text in mutants
        }

    def _try_all(
        self, server: ServerKind, mutants: Sequence[MutantText], done: int, total: int
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
            if (journaled := self._journal.reply(server, mutant_text.mutant.id)) is not None
        }
        by_id = {mutant_text.mutant.id: mutant_text for mutant_text in mutants}

        def on_reply(reply: TrialReply) -> None:
            if self._is_stopped:
                return
            if reply.must_rebuild:
                to_rebuild.append(reply.id)
                return
            self._journal.tried(server, reply)
            replies[reply.id] = reply
            self._progress(self.name, server, done + len(replies), total)

        to_rebuild: list[str] = []
        jobs = [job_of(mutant_text) for mutant_text in mutants if mutant_text.mutant.id not in replies]
        if jobs:
            self._pool_for(server, rebuilds=self._reruns).run(jobs, on_reply)
        for mutant in to_rebuild:
            on_reply(self._try_one(server, job_of(by_id[mutant]), keeps=False))
        if self._is_stopped:
            raise KeyboardInterrupt
        return replies

    def _try_one(self, server: ServerKind, job: Job, *, keeps: bool = True) -> TrialReply:
        """Have a job tried, and return the reply; where its code can't be replaced, the modules are loaded anew.

        Args:
            server: the kind of server.
            job: what is tried.
            keeps: whether the reply is taken from the journal, and kept in it.

        Raises:
            UsageError: it can't be tried even with the modules loaded anew.
        """
        reply = self._journal.reply(server, job.id) if keeps else None
        if reply is None:
            reply = self._pool_for(server, rebuilds=self._reruns).ask(job)
            if reply.must_rebuild and not self._reruns:
                reply = self._pool_for(server, rebuilds=True).ask(job)
                if reply.must_rebuild:
                    raise UsageError(f"{self._display_folder}: {job.id} can't be tried: {reply.must_rebuild}")
            if keeps:
                self._journal.tried(server, reply)
        return reply

    def _obstacle(self, targets: Sequence[MutationTarget], sampled: Sequence[MutantText]) -> str:
        """Return why plain cosmic-ray can't try the sample, and show it; empty where it can, or did before."""
        if all(self._journal.agreed(mutant_text.mutant.id) is not None for mutant_text in sampled):
            return ""
        self._progress(self.name, "copy", 0, 0)
        reason = obstacle(self.folder, targets, self._sources)
        if reason:
            self._progress(self.name, f"plain cosmic-ray is not asked: {reason} (no-crosscheck)", 0, 0)
        return reason

    def _agreement(self, sampled: Sequence[MutantText], results: Sequence[Result]) -> tuple[Crosscheck, ...]:
        """Have plain cosmic-ray try a sample of the mutants, and return both verdicts of each."""
        verdicts = {result.mutant.id: result.verdicts["cut-point"].is_killed for result in results}
        untried = [
            mutant_text.mutant
            for mutant_text in sampled
            if self._journal.agreed(mutant_text.mutant.id) is None
        ]
        for done, (mutant, is_killed) in enumerate(by_cosmic_ray(self.folder, untried), 1):
            self._journal.agree(mutant, killed=is_killed)
            self._progress(self.name, "sample", done, len(untried))
        crosschecks = [
            Crosscheck(
                mutant_text.mutant.id,
                verdicts[mutant_text.mutant.id],
                bool(self._journal.agreed(mutant_text.mutant.id)),
            )
            for mutant_text in sampled
        ]
        return tuple(sorted(crosschecks, key=lambda crosscheck: crosscheck.mutant))

    def _refuse_flaky(self, fix: TrialReply) -> None:
        """Try the fix once more at the end of the study.

        Raises:
            UsageError: the test fails now, so it is flaky and says nothing about mutants.
        """
        if ("cut", False) not in self._pools:  # every reply came from the journal, so nothing was tried
            return
        last = self._pool_for("cut").ask(Job(id="last", variant="fix"))
        if last.kind != fix.kind:
            raise UsageError(_flaky_message(self._display_folder, fix, last))

    def _diff(self, mutant_text: MutantText) -> str:
        target = mutant_text.mutant.target.file
        lines = difflib.unified_diff(
            self._sources[target].splitlines(),
            mutant_text.text.splitlines(),
            f"a/{target}",
            f"b/{target}",
            lineterm="",
            n=1,
        )
        return "\n".join(lines)

    def _explanation(self, arguments: Sequence[Argued], mutant: Mutant) -> str:
        """Return the user's explanation of a mutant; empty where there is none."""
        key = (self.name, mutant.id)
        return next((argued.why for argued in arguments if (argued.incident, argued.mutant) == key), "")

    def _refuse_unknown_ids(self, known: set[str]) -> None:
        """Refuse explanations of mutants that do not exist.

        Raises:
            UsageError: there is one; the source has changed since it was written.
        """
        for argued in (*self._options.arguments.equivalent, *self._options.arguments.survivor):
            if argued.incident == self.name and argued.mutant not in known:
                raise UsageError(
                    f"--explanations: there is no mutant {argued.mutant} of {argued.incident} among these operators; its"
                    " source has changed since, or the id is misspelt (mutants.jsonl has them)"
                )


_REMEDY = {
    "mocks": "mend that test, or take it out of the folder",
    "predicate": "it must say why the world is unsafe after the harm of the incident",
    "full-stub": "the test does something that depends on the tool though it is served; look at what it calls itself",
}
_REMEDY_ELSE = "let the test look at what the tool gives"


def _passes_or_fails(reply: TrialReply) -> str:
    return "passes" if reply.kind == "passed" else "fails"


def _flaky_message(folder: Path, first: TrialReply, second: TrialReply) -> str:
    reason = first.said or second.said
    return (
        f"{folder}: its test is flaky: with the same code it {_passes_or_fails(first)}, and then it"
        f" {_passes_or_fails(second)} ({reason}); so its result says nothing about a mutant. Make what differs a boundary"
        " (`autochron check`), and record again"
    )
