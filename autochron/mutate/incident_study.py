"""The mutation study of one incident: its mutants made, tried by every method, and what came of each."""

from __future__ import annotations

import difflib
import hashlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from autochron import __version__
from autochron._runtime.unpatched import os
from autochron.errors import UsageError
from autochron.mutate import scoring
from autochron.mutate.agreement import by_cosmic_ray
from autochron.mutate.canary import raising
from autochron.mutate.fork_server import ForkServer, ServerPool
from autochron.mutate.generating import Generated, generate, mutated
from autochron.mutate.journal import Journal
from autochron.mutate.merging import in_order
from autochron.mutate.model import (
    Canary,
    Crosscheck,
    Input,
    Kind,
    Mutant,
    MutationTarget,
    Result,
    Sensitivity,
    StudiedIncident,
)
from autochron.mutate.options import TRACE, Argued, StudyOptions, tools_of
from autochron.mutate.protocol import Job, Ready, ServerKind, ServerTask, TrialReply, digest_of
from autochron.mutate.sets import OperatorSet

_SERVER = "autochron.mutate.server.main"

Progress = Callable[[str, str, int, int], None]
"""Told of the incident, what is done, how much of it, and of how much."""


class MutantText(NamedTuple):
    """A mutant with the text that it makes."""

    mutant: Mutant
    text: str


class Unit:
    """The study of one incident."""

    def __init__(
        self, folder: Path, operators: OperatorSet, options: StudyOptions, width: int, progress: Progress
    ) -> None:
        self.folder = folder.resolve()
        self.name = self.folder.name
        self._shown = folder
        self._operators = operators
        self._options = options
        self._width = width
        self._progress = progress
        self._pools: dict[tuple[ServerKind, bool], ServerPool] = {}
        self._fork_server: ForkServer | None = None
        self._reruns = False
        """Whether the tests run the agent in processes of their own, where code that is replaced here is not found."""
        self._is_stopped = False
        self.digest = self.made_of = _digest(self.folder, operators, options)
        self._sources: dict[str, str] = {}

    def stop(self) -> None:
        """Have it end soon."""
        self._is_stopped = True
        for pool in list(self._pools.values()):
            pool.end()

    def run(self) -> StudiedIncident:
        """Try it all."""
        key = f"{self.digest} {sys.version_info[0]}.{sys.version_info[1]} {self._options.shard}"
        self._journal = Journal(os.path.join(self._options.out, "journal", f"{self.name}.jsonl"), key)
        try:
            return self._studied()
        finally:
            for pool in self._pools.values():
                pool.end()
            if self._fork_server is not None:
                self._fork_server.end()
            self._journal.close()

    def _studied(self) -> StudiedIncident:
        known = self._journal.ready("cut")
        if known is not None and not self._is_as_it_was(known):
            self._journal.forget()
        cut = self._ready("cut")
        told = msgspec.json.encode(sorted(cut.files.items()))
        self.digest = hashlib.sha256(self.digest.encode() + told).hexdigest()[:16]
        fix = self._passing_fix(cut)
        self._reruns = fix.reran
        made = [self._generated(each) for each in cut.targets]
        for each, target in zip(made, cut.targets, strict=True):
            self._sources[target.file] = each.source
        mutants = [
            MutantText(mutant, mutated(each.source, mutant))
            for each in made
            for mutant in each.mutants
            if is_in_shard(mutant.id, self._options.shard)
        ]
        self._refuse_strangers({mutant.id for each in made for mutant in each.mutants})
        baseline = self._baseline(cut, fix)
        canaries = self._canaries(cut, baseline)
        replies = self._replies(mutants, baseline)
        results = [self._scored(each, replies[each.mutant.id], baseline) for each in mutants]
        self._refuse_flaky(fix)
        inputs, sensitivity = _inputs(baseline, results)
        return StudiedIncident(
            name=self.name,
            targets=cut.targets,
            sources=dict(self._sources),
            generated=sum(each.generated for each in made),
            same_bytecode=sum(each.same_bytecode for each in made),
            duplicates=sum(each.duplicates for each in made),
            canaries=canaries,
            inputs=inputs,
            sensitivity=sensitivity,
            results=in_order(results),
            agreement=self._agreement(mutants, results),
            made_of=self.made_of,
        )

    def _passing_fix(self, cut: Ready) -> TrialReply:
        """Return how the tests end with the fix; UsageError where they fail."""
        fix = _fix(cut)
        if fix.kind != "passed":
            raise UsageError(
                f"{self._shown}: its test fails before anything is mutated ({fix.said}); mend that first, with"
                f" `pytest {self._shown}`"
            )
        return fix

    def _scored(
        self, tried: MutantText, trials: scoring.MutantReplies, baseline: scoring.FixBaseline
    ) -> Result:
        """Return the result of one mutant, with what the user argues of it."""
        arguments = self._options.arguments
        return scoring.scored(
            tried.mutant,
            trials,
            baseline,
            self._diff(tried),
            proof=self._argued(arguments.equivalent, tried.mutant),
            why=self._argued(arguments.survivor, tried.mutant),
        )

    def _is_as_it_was(self, known: Ready) -> bool:
        """Return whether the files that were loaded are what they were: some may lie outside the folder."""
        return all(digest_of(str(self.folder / path)) == digest for path, digest in known.files.items())

    def _generated(self, target: MutationTarget) -> Generated:
        everything = self._options.everything
        try:
            return generate(self.folder, self.name, target, self._operators, everything=everything)
        except UsageError as error:
            raise UsageError(f"{self._shown}: {error.message}") from error

    # --- processes ---------------------------------------------------------------------------------------------------

    def _pool_for(self, server: ServerKind, *, rebuilds: bool = False) -> ServerPool:
        key = (server, rebuilds)
        if key not in self._pools:
            cut = self._journal.ready("cut")
            asked = ServerTask(
                server=server,
                paths=tuple(str(each) for each in sorted(self.folder.glob("test_*.py"))),
                folder=str(self.folder),
                memory=self._options.memory,
                timeout=self._options.timeout,
                targets=tools_of(self._options.tools) if cut is None else cut.targets,
                swaps={} if cut is None or server != "mocks" else cut.swaps,
                inputs=self._options.inputs,
                drawn=self._options.drawn,
                rebuilds=rebuilds,
            )
            self._pools[key] = ServerPool(self._started(), asked, self._width)
        if self._is_stopped:
            raise KeyboardInterrupt
        return self._pools[key]

    def _started(self) -> ForkServer:
        if self._fork_server is None:
            self._fork_server = ForkServer(_SERVER, str(self.folder), 4 * self._width)
        return self._fork_server

    def _ready(self, server: ServerKind) -> Ready:
        """Start a process of a kind, or know from the journal what it says."""
        known = self._journal.ready(server)
        if known is not None:
            return known
        try:
            ready = self._pool_for(server).first()
        except UsageError as error:
            raise UsageError(f"{self._shown}: {error.message}") from error
        self._journal.began(server, ready)
        return ready

    def _baseline(self, cut: Ready, fix: TrialReply) -> scoring.FixBaseline:
        """Have the fix tried by each method, and by the cut-point test three times."""
        second = self._tested("cut", Job(id="again", variant="fix"))
        # One right after the other: a test that fails every other time would pass by chance before and after anything else.
        for each in (second, self._tested("cut", Job(id="and again", variant="fix"))):
            if each.kind != fix.kind:
                raise UsageError(_flaky(self._shown, fix, each))
        return scoring.FixBaseline(
            fix=fix,
            recorded=cut.recorded,
            stub=_fix(self._ready("stub")).kind,
            mocks=self._mocks(),
            widened=None if self._reruns else _fix(self._ready("widen")),
            volatile=scoring.volatile_in(fix, second),
            chance=scoring.sorts_in(fix, second),
        )

    def _mocks(self) -> Kind | None:
        """Return how tests without a trace end with the fix; None where there are none."""
        known = self._journal.ready("mocks")
        if known is None:
            try:
                known = self._pool_for("mocks").first()
            except UsageError as error:
                if "there is no test" in error.message:
                    known = Ready(fault=error.message)
                else:
                    raise UsageError(f"{self._shown}: {error.message}") from error
            self._journal.began("mocks", known)
        return None if known.fault else _fix(known).kind

    # --- trials --------------------------------------------------------------------------------------------------------

    def _canaries(self, cut: Ready, baseline: scoring.FixBaseline) -> tuple[Canary, ...]:
        """Try what must end in a way that is known before."""
        found = [Canary("the fix", "cut-point", "passes", _word(baseline.fix))]
        if baseline.mocks is not None:
            found.append(
                Canary(
                    "the fix", "mocks", "passes", "passes" if baseline.mocks == "passed" else baseline.mocks
                )
            )
        for at, target in enumerate(cut.targets):
            text = raising(self._sources[target.file], target.function)
            job = Job(id=f"raises-{at}", variant="raises", target=target, text=text)
            what = f"{target.function} raises"
            found.append(Canary(what, "cut-point", "fails", _word(self._tested("cut", job))))
            stub = self._tested("stub", job)
            served = "as with the fix"
            got = served if stub.kind == baseline.stub else f"{stub.kind}, and {baseline.stub} with the fix"
            found.append(Canary(what, "full-stub", served, got))
        if cut.swaps:
            job = Job(id="unguarded", variant="unguarded")
            found.append(
                Canary("the function without the fix", "cut-point", "fails", _word(self._tested("cut", job)))
            )
        wrong = [each for each in found if not each.holds]
        if wrong:
            each = wrong[0]
            raise UsageError(
                f"{self._shown}: no report, for a canary says that it would mean nothing: {each.what}, and {each.method}"
                f" {each.got}, where it {each.expected}; {_REMEDY.get(each.method, _REMEDY_ELSE)}"
            )
        return tuple(found)

    def _replies(
        self, mutants: Sequence[MutantText], baseline: scoring.FixBaseline
    ) -> dict[str, scoring.MutantReplies]:
        """Have every mutant tried: by all methods that run the tests, and what they let live with other inputs."""
        servers: list[ServerKind] = ["cut", "stub"]
        if baseline.mocks is not None:
            servers.append("mocks")
        total = len(mutants) * len(servers)
        done = 0
        found: dict[ServerKind, dict[str, TrialReply]] = {}
        for server in servers:
            found[server] = self._all(server, mutants, done, total)
            done += len(mutants)
        left = [
            each
            for each in mutants
            if found["cut"][each.mutant.id].kind == "passed"
            and not any(
                (change.address, change.path) not in baseline.volatile
                for change in scoring.differences(baseline.fix.given, found["cut"][each.mutant.id].given)
            )
        ]
        widened = {} if baseline.widened is None else self._all("widen", left, done, total + len(left))
        return {
            each.mutant.id: scoring.MutantReplies(
                cut=found["cut"][each.mutant.id],
                stub=found["stub"][each.mutant.id],
                mocks=found["mocks"][each.mutant.id] if "mocks" in found else None,
                widened=widened.get(each.mutant.id),
            )
            for each in mutants
        }

    def _all(
        self, server: ServerKind, mutants: Sequence[MutantText], done: int, total: int
    ) -> dict[str, TrialReply]:
        """Have one process, or several, try all of these; what the journal knows is not tried again."""
        found = {
            each.mutant.id: known
            for each in mutants
            if (known := self._journal.reply(server, each.mutant.id)) is not None
        }
        texts = {each.mutant.id: each for each in mutants}

        def hear(reply: TrialReply) -> None:
            if self._is_stopped:
                return
            if reply.must_rebuild:
                again.append(reply.id)
                return
            self._journal.tried(server, reply)
            found[reply.id] = reply
            self._progress(self.name, server, done + len(found), total)

        again: list[str] = []
        jobs = [_job(each) for each in mutants if each.mutant.id not in found]
        if jobs:
            self._pool_for(server, rebuilds=self._reruns).run(jobs, hear)
        for each in again:
            hear(self._tested(server, _job(texts[each]), keeps=False))
        if self._is_stopped:
            raise KeyboardInterrupt
        return found

    def _tested(self, server: ServerKind, job: Job, *, keeps: bool = True) -> TrialReply:
        """Have one thing tried, with the modules loaded anew where it must be."""
        known = self._journal.reply(server, job.id) if keeps else None
        if known is None:
            known = self._pool_for(server, rebuilds=self._reruns).ask(job)
            if known.must_rebuild and not self._reruns:
                known = self._pool_for(server, rebuilds=True).ask(job)
                if known.must_rebuild:
                    raise UsageError(f"{self._shown}: {job.id} can't be tried: {known.must_rebuild}")
            if keeps:
                self._journal.tried(server, known)
        return known

    def _agreement(self, mutants: Sequence[MutantText], results: Sequence[Result]) -> tuple[Crosscheck, ...]:
        """Have plain cosmic-ray try a few mutants, too."""
        share = self._options.sample
        wanted = sample(mutants, share) if share else []
        if not wanted:
            return ()
        verdicts = {each.mutant.id: each.verdicts["cut-point"].is_killed for each in results}
        unknown = [each.mutant for each in wanted if self._journal.agreed(each.mutant.id) is None]
        for at, (mutant, is_killed) in enumerate(by_cosmic_ray(self.folder, unknown), 1):
            self._journal.agree(mutant, killed=is_killed)
            self._progress(self.name, "sample", at, len(unknown))
        found = [
            Crosscheck(each.mutant.id, verdicts[each.mutant.id], bool(self._journal.agreed(each.mutant.id)))
            for each in wanted
        ]
        return tuple(sorted(found, key=lambda each: each.mutant))

    def _refuse_flaky(self, fix: TrialReply) -> None:
        """Try the fix once more at the end: a test that passes at times says nothing of mutants."""
        if ("cut", False) not in self._pools:  # all that was needed stands in the journal
            return
        last = self._pool_for("cut").ask(Job(id="last", variant="fix"))
        if last.kind != fix.kind:
            raise UsageError(_flaky(self._shown, fix, last))

    def _diff(self, each: MutantText) -> str:
        target = each.mutant.target.file
        lines = difflib.unified_diff(
            self._sources[target].splitlines(),
            each.text.splitlines(),
            f"a/{target}",
            f"b/{target}",
            lineterm="",
            n=1,
        )
        return "\n".join(lines)

    def _argued(self, arguments: Sequence[Argued], mutant: Mutant) -> str:
        own = (self.name, mutant.id)
        return next((each.why for each in arguments if (each.incident, each.mutant) == own), "")

    def _refuse_strangers(self, known: set[str]) -> None:
        """Refuse an argument about a mutant that there is not: the source has changed since."""
        for each in (*self._options.arguments.equivalent, *self._options.arguments.survivor):
            if each.incident == self.name and each.mutant not in known:
                raise UsageError(
                    f"--explanations: there is no mutant {each.mutant} of {each.incident} among these operators; its"
                    " source has changed since, or the id is misspelt (mutants.jsonl has them)"
                )


_REMEDY = {
    "mocks": "mend that test, or take it out of the folder",
    "full-stub": "the test does something that depends on the tool though it is served; look at what it calls itself",
}
_REMEDY_ELSE = "let the test look at what the tool gives"


def _word(reply: TrialReply) -> str:
    return "passes" if reply.kind == "passed" else "fails"


def _flaky(folder: Path, one: TrialReply, other: TrialReply) -> str:
    said = one.said or other.said
    return (
        f"{folder}: its test is flaky: with the same code it {_word(one)}, and then it {_word(other)} ({said}); what a mutant"
        " does could not be told from that. Make what differs a boundary (`autochron check`), and record again"
    )


def _fix(ready: Ready) -> TrialReply:
    assert ready.fix is not None  # noqa: S101 - it has no fault
    return ready.fix


def sample(mutants: Sequence[MutantText], share: float) -> list[MutantText]:
    """Choose a share of the mutants, one at least, by a hash of their ids: the same ones each time."""
    count = min(len(mutants), max(1, round(share * len(mutants))))
    return sorted(mutants, key=lambda each: hashlib.sha256(f"sample {each.mutant.id}".encode()).digest())[
        :count
    ]


def _job(each: MutantText) -> Job:
    mutant = each.mutant
    return Job(
        id=mutant.id, variant="mutant", target=mutant.target, text=each.text, rebuilds=mutant.at_import
    )


def is_in_shard(mutant: str, shard: tuple[int, int]) -> bool:
    """Return whether a mutant is one of a shard's: by its id, so that it is the same everywhere."""
    which, count = shard
    return int(hashlib.sha256(mutant.encode()).hexdigest(), 16) % count == which - 1


def _digest(folder: Path, operators: OperatorSet, options: StudyOptions) -> str:
    """Return a digest of what the results of an incident depend on."""
    found = hashlib.sha256(
        msgspec.json.encode(
            (__version__, operators, options.tools, options.inputs, options.drawn, options.everything)
        )
    )
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.suffix in {".py", ".toml", ".ini", TRACE}:
            found.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return found.hexdigest()[:16]


def _inputs(
    baseline: scoring.FixBaseline, results: Sequence[Result]
) -> tuple[tuple[Input, ...], tuple[Sensitivity, ...]]:
    """Return the inputs that were tried, with those that a set cover keeps, and which argument can flip the decision."""
    if baseline.widened is None:
        return (), ()
    inputs = scoring.numbered(baseline.widened)
    kept = set(scoring.cover(each.inputs for each in results))
    inputs = tuple(msgspec.structs.replace(each, is_kept=each.number in kept) for each in inputs)
    by_argument: dict[str, list[Input]] = {}
    for each in inputs:
        if each.argument:
            by_argument.setdefault(each.argument, []).append(each)
    return inputs, tuple(
        Sensitivity(
            name,
            len(several),
            sum(each.flips for each in several),
            next((each.value for each in several if each.flips), ""),
        )
        for name, several in by_argument.items()
    )
