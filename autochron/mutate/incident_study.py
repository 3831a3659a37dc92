"""The mutation study of one incident: its mutants are made and tried by every method, and scored."""

from __future__ import annotations

import difflib
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from autochron._runtime.unpatched import os
from autochron.errors import UsageError
from autochron.mutate import scoring
from autochron.mutate.agreement import by_cosmic_ray, obstacle
from autochron.mutate.canary import REFUSES, canary_source
from autochron.mutate.generating import Generated, generate, mutated
from autochron.mutate.incident_servers import IncidentServers, Progress, baseline_key
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
    written,
)
from autochron.mutate.options import Argued, StudyOptions, digest_of_sources
from autochron.mutate.parsing import read_source
from autochron.mutate.protocol import Job, Ready, ServerKind, TrialReply, digest_of
from autochron.mutate.selection import MutantText, is_in_shard, sample
from autochron.mutate.sets import OperatorSet


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
        self._progress = progress
        self._servers = IncidentServers(self.folder, folder, options, width, progress)
        self.digest = self.made_of = digest_of_sources(self.folder, operators, options)
        self._sources: dict[str, str] = {}
        self._accepts_raising = False

    def stop(self) -> None:
        """Stop the study soon; `run` then raises KeyboardInterrupt."""
        self._servers.stop()

    def run(self) -> StudiedIncident:
        """Make the study, and return its results.

        Raises:
            UsageError: the incident can't be studied.
            KeyboardInterrupt: `stop` was called.
        """
        key = f"{self.digest} {sys.version_info[0]}.{sys.version_info[1]} {self._options.shard}"
        self._progress(self.name, "fix", 0, 0)
        self._journal = Journal(os.path.join(self._options.out, "journal", f"{self.name}.jsonl"), key)
        self._servers.journal = self._journal
        try:
            return self._run_study()
        finally:
            self._servers.end()
            self._journal.close()

    def _run_study(self) -> StudiedIncident:
        journaled = self._journal.ready("cut")
        if journaled is not None and not self._files_are_unchanged(journaled):
            self._journal.forget()
        cut = self._servers.ready_of("cut")
        file_digests = msgspec.json.encode(sorted(cut.files.items()))
        self.digest = hashlib.sha256(self.digest.encode() + file_digests).hexdigest()[:16]
        fix = self._passing_fix(cut)
        self._note_speed(cut, fix)
        of_targets = {target: self._generate(target, cut) for target in cut.targets}
        targets = self._reached(cut, fix)
        generated = [of_targets[target] for target in targets]
        for of_target, target in zip(generated, targets, strict=True):
            self._sources[target.file] = of_target.source
        mutants = [
            MutantText(mutant, mutated(of_target.source, mutant))
            for of_target in generated
            for mutant in of_target.mutants
            if is_in_shard(mutant.id, self._options.shard)
        ]
        self._refuse_unknown_ids({mutant.id for of_target in generated for mutant in of_target.mutants})
        sampled = sample(mutants, self._options.sample) if self._options.sample else []
        not_compared = self._obstacle(targets, sampled)
        baseline = self._baseline(cut, fix)
        canaries = self._canaries(cut, targets, baseline)
        replies = self._collect_replies(mutants, baseline)
        results = [self._score(each, replies[each.mutant.id], baseline) for each in mutants]
        self._refuse_flaky(fix)
        inputs, sensitivity = scoring.summarize_inputs(baseline, results)
        return StudiedIncident(
            name=self.name,
            targets=targets,
            sources=dict(self._sources),
            generated=sum(of_target.generated for of_target in generated),
            same_bytecode=sum(of_target.same_bytecode for of_target in generated),
            duplicates=sum(of_target.duplicates for of_target in generated),
            canaries=canaries,
            inputs=inputs,
            states=scoring.states_of(baseline.widened),
            files=scoring.files_of(baseline.widened),
            sensitivity=sensitivity,
            results=in_order(results),
            agreement=() if not_compared else self._agreement(sampled, results),
            has_twin=baseline.has_twin,
            has_predicate=bool(baseline.fix.harms),
            accepts_raising=self._accepts_raising,
            not_compared=not_compared,
            made_of=self.made_of,
        )

    def _note_speed(self, cut: Ready, fix: TrialReply) -> None:
        """Show why trials take long, where they do; have processes that the tests start prepared."""
        if fix.reran:
            why_whole = self._servers.rerun(cut)
            slow = f"{_SLOW}, and {why_whole}" if why_whole else ""
            if slow := slow if self._servers.is_prepared else _SLOWER:
                self._progress(self.name, slow, 0, 0)
        elif cut.why_whole:
            self._progress(self.name, f"each trial runs the whole test, since {cut.why_whole}", 0, 0)

    def _passing_fix(self, cut: Ready) -> TrialReply:
        """Return the reply of the fix.

        Raises:
            UsageError: the tests fail with the fix.
        """
        fix = cut.fix_reply()
        self._refuse_failing(fix, "test fails")
        return fix

    def _refuse_failing(self, fix: TrialReply, what: str) -> None:
        if fix.kind != "passed":
            raise UsageError(
                f"{self._display_folder}: its {what} before anything is mutated ({fix.said}); mend that first, with"
                f" `pytest {self._display_folder}`"
            )

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

    def _generate(self, target: MutationTarget, cut: Ready) -> Generated:
        literals = cut.literals.get(f"{target.file}:{target.function}")
        everything = self._options.everything
        try:
            return generate(
                self.folder, self.name, target, self._operators, everything=everything, literals=literals
            )
        except UsageError as error:
            raise UsageError(f"{self._display_folder}: {error.message}") from error

    def _baseline(self, cut: Ready, fix: TrialReply) -> scoring.FixBaseline:
        """Try the fix by each method, and by the cut-point test three times."""
        second = self._servers.try_one("cut", Job(id="again", variant="fix"))
        # Directly one after the other: between other trials, a test that fails every second time could pass by chance.
        for repeated in (second, self._servers.try_one("cut", Job(id="and again", variant="fix"))):
            if repeated.kind != fix.kind:
                raise UsageError(_flaky_message(self._display_folder, fix, repeated))
        return scoring.FixBaseline(
            fix=fix,
            recorded=cut.recorded,
            stub=self._servers.ready_of("stub").fix_reply().kind,
            mocks=self._mocks_kind(),
            baselines=self._baseline_kinds(),
            has_twin=self._has_part("twin"),
            has_edges=self._has_part("edges"),
            widened=self._servers.ready_of("widen").fix_reply(),
            volatile=scoring.volatile_places(fix, second),
            chance=scoring.volatile_sorts(fix, second),
        )

    def _mocks_kind(self) -> Kind | None:
        """Return how the tests without a trace end with the fix; None where there are no such tests."""
        ready = self._servers.ready_if_tests("mocks")
        return None if ready.fault else ready.fix_reply().kind

    def _baseline_kinds(self) -> dict[str, Kind]:
        """Return how each baseline ends with the fix; one that this folder does not have is left out.

        Raises:
            UsageError: a baseline that the folder has holds no test.
        """
        names = [name for name, file in self._options.baselines if (self.folder / file).exists()]
        readies = {name: self._servers.ready_if_tests(baseline_key(name)) for name in names}
        for name, ready in readies.items():
            if ready.fault:
                raise UsageError(f"{self._display_folder}: --baseline {name}: {ready.fault}")
        return {name: ready.fix_reply().kind for name, ready in readies.items()}

    def _has_part(self, server: ServerKind) -> bool:
        """Return whether the folder has tests of a part, the twin or the edges.

        Raises:
            UsageError: they fail with the fix.
        """
        ready = self._servers.ready_if_tests(server)
        if ready.fault:
            return False
        self._refuse_failing(ready.fix_reply(), f'tests marked part="{server}" fail')
        return True

    # --- trials --------------------------------------------------------------------------------------------------------

    def _reached(self, cut: Ready, fix: TrialReply) -> tuple[MutationTarget, ...]:
        """Return the targets that the test of the incident runs, without helpers that run where nothing is live, too.

        Raises:
            UsageError: one that is no helper never runs, so that it can't be the fix.
        """
        stub = self._servers.ready_of("stub").fix_reply()
        reached = []
        for target in cut.targets:
            is_helper = self._is_helper(cut, target)
            job = self._raising(cut, target)
            raising = self._servers.try_one("cut", job)
            runs = raising.canary_ran or raising.reran or raising.kind != fix.kind
            if is_helper and (not runs or self._servers.try_one("stub", job).kind != stub.kind):
                continue
            if not runs:
                raise UsageError(
                    f"{self._display_folder}: {target.function} of {target.file} never runs in the test of the incident, so"
                    " no mutant of it could do harm; name the function that stops the call with --tool FILE:NAME"
                )
            reached.append(target)
        return tuple(reached)

    @staticmethod
    def _is_helper(cut: Ready, target: MutationTarget) -> bool:
        """Return whether a target is a function that the fix calls: what it returns need not refuse anything."""
        return cut.targets.index(target) >= len(cut.targets) - cut.helpers

    def _raising(self, cut: Ready, target: MutationTarget) -> Job:
        """Return the job that tries a target with a body that raises."""
        source = read_source(self.folder, target.file)
        text = canary_source(source, target.function)
        return Job(id=f"raises-{cut.targets.index(target)}", variant="raises", target=target, text=text)

    def _canaries(
        self, cut: Ready, targets: Sequence[MutationTarget], baseline: scoring.FixBaseline
    ) -> tuple[Canary, ...]:
        """Try what has a result that is known beforehand.

        Raises:
            UsageError: a canary has another result.
        """
        canaries = [Canary("the fix", "cut-point", "passes", _passes_or_fails(baseline.fix))]
        plain = {} if baseline.mocks is None else {"mocks": baseline.mocks}
        for method, kind in (plain | baseline.baselines).items():
            canaries.append(Canary("the fix", method, "passes", "passes" if kind == "passed" else kind))
        for target in targets:
            job = self._raising(cut, target)
            description = f"{target.function} raises"
            raising = _passes_or_fails(self._servers.try_one("cut", job))
            if raising == "passes" and baseline.fix.harms:
                self._accepts_raising = True
            else:
                canaries.append(Canary(description, "cut-point", "fails", raising))
            if baseline.has_twin and not self._is_helper(cut, target):
                refusal = canary_source(self._sources[target.file], target.function, REFUSES)
                refusing = msgspec.structs.replace(job, id=job.id.replace("raises", "refuses"), text=refusal)
                through = _passes_or_fails(self._servers.try_one("twin", refusing))
                canaries.append(Canary(f"{target.function} refuses", "twin", "fails", through))
            stub = self._servers.try_one("stub", job)
            served = "as with the fix"
            result = (
                served if stub.kind == baseline.stub else f"{stub.kind}, and {baseline.stub} with the fix"
            )
            canaries.append(Canary(description, "full-stub", served, result))
        if cut.swaps:
            job = Job(id="unguarded", variant="unguarded")
            unguarded = self._servers.try_one("cut", job)
            what = "the function without the fix"
            canaries.append(Canary(what, "cut-point", "fails", _passes_or_fails(unguarded)))
            if baseline.fix.harms:
                is_unsafe = any(unguarded.harms)
                canaries.append(Canary(what, "predicate", "unsafe", "unsafe" if is_unsafe else "safe"))
            if baseline.has_twin:
                through = _passes_or_fails(self._servers.try_one("twin", job))
                canaries.append(Canary(what, "twin", "passes", through))
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
        servers: list[str] = ["cut", "stub"]
        if baseline.mocks is not None:
            servers.append("mocks")
        servers += map(baseline_key, baseline.baselines)
        if baseline.has_twin:
            servers.append("twin")
        if baseline.has_edges:
            servers.append("edges")
        total = len(mutants) * len(servers)
        done = 0
        replies: dict[str, dict[str, TrialReply]] = {}
        for server in servers:
            replies[server] = self._servers.try_all(server, mutants, done, total)
            done += len(mutants)
        parts = [server for server in servers if server in {"cut", "twin", "edges"}]
        survivors = [
            mutant_text
            for mutant_text in mutants
            if all(replies[part][mutant_text.mutant.id].kind == "passed" for part in parts)
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
            else self._servers.try_all("widen", survivors, done, total + len(survivors))
        )
        return {
            mutant_text.mutant.id: scoring.MutantReplies(
                cut=replies["cut"][mutant_text.mutant.id],
                stub=replies["stub"][mutant_text.mutant.id],
                mocks=replies["mocks"][mutant_text.mutant.id] if "mocks" in replies else None,
                baselines={
                    name: replies[baseline_key(name)][mutant_text.mutant.id] for name in baseline.baselines
                },
                twin=replies["twin"][mutant_text.mutant.id] if "twin" in replies else None,
                edges=replies["edges"][mutant_text.mutant.id] if "edges" in replies else None,
                widened=widened.get(mutant_text.mutant.id),
            )
            for mutant_text in mutants
        }

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
        verdicts = {
            result.mutant.id: result.verdicts[written(result.verdicts)].is_killed for result in results
        }
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
        if not self._servers.has_tried("cut"):  # every reply came from the journal, so nothing was tried
            return
        last = self._servers.pool_for("cut").ask(Job(id="last", variant="fix"))
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


_SLOW = "each trial runs the whole agent, since the test calls replay.run()"
_SLOWER = (
    "each trial starts Python anew, since the test calls replay.run(), and the fix gives another result in a fork; a test"
    " that calls the agent in its own process is many times faster"
)

_REMEDY = {
    "mocks": "mend that test, or take it out of the folder",
    "predicate": "it must say why the world is unsafe after the harm of the incident",
    "twin": "it must be a run that goes through without the fix, and let its test look at what was done",
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
