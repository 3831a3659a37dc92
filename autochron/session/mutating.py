"""A mutation study: incidents found, their mutants made and tried by every method, and what came of each."""

from __future__ import annotations

import ast
import difflib
import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from autochron import __version__
from autochron.errors import UsageError
from autochron.mutate import scoring
from autochron.mutate.agreement import by_cosmic_ray
from autochron.mutate.clustering import mapped
from autochron.mutate.crew import Crew, Nursery
from autochron.mutate.generating import generate, mutated
from autochron.mutate.journal import Journal
from autochron.mutate.merging import in_order
from autochron.mutate.model import (
    METHODS,
    Agreement,
    Canary,
    Incident,
    Input,
    Kind,
    Mutant,
    Result,
    Sensitivity,
    Study,
    Target,
)
from autochron.mutate.protocol import Asked, Job, Ready, Reply, Server
from autochron.mutate.sets import OperatorSet, operator_set

_SERVER = "autochron.pytest_plugin.mutants"

TRACE = ".jsonl"

Progress = Callable[[str, str, int, int], None]
"""Told of the incident, what is done, how much of it, and of how much."""


class Proof(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a mutant is equivalent: of which incident, its id, and the argument."""

    incident: str
    mutant: str
    why: str


class Options(Struct, frozen=True, kw_only=True):
    """How a study is made.

    Attributes:
        operators: the name of the set.
        jobs: how many processes try at a time.
        shard: (which, of how many).
        out: the folder of the results.
        tools: functions to mutate, `FILE:NAME` from the incident's folder; none: what the tests swap in, or what is live.
        timeout: seconds of a trial; None: some times what the fix takes.
        memory: bytes that a trial may take.
        inputs: how many inputs a call is given, at most.
        sample: what share of the mutants plain cosmic-ray runs, too.
        everything: whether decorators, defaults, docstrings and f-strings are changed as well.
        proofs: mutants that are argued to be equivalent.
    """

    operators: str = "extended"
    jobs: int = 1
    shard: tuple[int, int] = (1, 1)
    out: str = os.path.join(".autochron", "mutation")
    tools: tuple[str, ...] = ()
    timeout: float | None = None
    memory: int = 1 << 30
    inputs: int = 96
    sample: float = 0.02
    everything: bool = False
    proofs: tuple[Proof, ...] = ()
    executor: str = "local"
    scheduler: str | None = None


class _Proofs(Struct, frozen=True, forbid_unknown_fields=True):
    equivalent: tuple[Proof, ...] = ()


def read_proofs(path: str) -> tuple[Proof, ...]:
    """Read the mutants that are argued to be equivalent.

    Raises:
        UsageError: the file can't be read, or says something else.
    """
    import tomllib  # lazy: few studies have any

    try:
        with open(path, "rb") as file:
            found = msgspec.convert(tomllib.load(file), _Proofs).equivalent
    except OSError as error:
        raise UsageError(f"--proofs {path}: it can't be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--proofs {path}: {error}; it takes [[equivalent]] tables of incident, mutant and why"
        ) from error
    for each in found:
        if not each.why.strip():
            raise UsageError(
                f"--proofs {path}: that of mutant {each.mutant} of {each.incident} says nothing; say why"
            )
    return found


def folders_of(words: Sequence[str]) -> list[Path]:
    """Give the incidents' folders.

    Raises:
        UsageError: one is no incident; or none is named, and there is none here.
    """
    if words:
        found = [Path(word) for word in words]
        for each in found:
            _check_folder(each)
        return found
    here = Path()
    if _is_incident(here):
        return [here]
    found = sorted(
        {each.parent for pattern in ("incidents/*/*.jsonl", "*/*.jsonl") for each in here.glob(pattern)}
    )
    found = [each for each in found if _is_incident(each)]
    if not found:
        raise UsageError(
            "there is no incident here, nor in incidents/: name the folder of one, which holds a trace and its test"
            " (`autochron incident new TRACE FOLDER` makes one)"
        )
    return found


def _is_incident(folder: Path) -> bool:
    return any(folder.glob(f"*{TRACE}")) and any(folder.glob("test_*.py"))


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; name one that holds a trace and its test")
    if not any(folder.glob("test_*.py")):
        raise UsageError(
            f"{folder} holds no test_*.py, so nothing could kill a mutant; name the folder of an incident"
        )


def study_of(folders: Sequence[Path], options: Options, progress: Progress) -> Study:
    """Try the mutants of each incident by every method.

    Raises:
        UsageError: an incident can't be tried: it says which, and why.
        KeyboardInterrupt: what was tried until then is in the journal, and the same call goes on from there.
    """
    operators = operator_set(options.operators)
    names = [each.resolve().name for each in folders]
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise UsageError(
            f"two folders are called {double}; name them in runs of their own, with an --out each"
        )
    if options.executor == "dask":
        return _study(operators, _on_cluster(folders, options, progress), options)
    at_once = max(1, min(options.jobs, len(folders)))
    width = max(1, options.jobs // at_once)
    units = [_Unit(folder, operators, options, width, progress) for folder in folders]
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(unit.run) for unit in units]
        try:
            incidents = tuple(future.result() for future in futures)
        except BaseException:
            for future in futures:
                future.cancel()
            for unit in units:
                unit.stop()
            raise
    return _study(
        operators, [(each, unit.digest) for each, unit in zip(incidents, units, strict=True)], options
    )


def _study(operators: OperatorSet, made: Sequence[tuple[Incident, str]], options: Options) -> Study:
    incidents = tuple(each for each, _ in made)
    digest = hashlib.sha256("\n".join(each for _, each in made).encode()).hexdigest()[:16]
    tried = {method for each in incidents for result in each.results for method in result.verdicts}
    return Study(
        operators=operators.name,
        digest=digest,
        methods=tuple(each for each in METHODS if each in tried),
        incidents=incidents,
        shard=options.shard,
    )


def _on_cluster(folders: Sequence[Path], options: Options, progress: Progress) -> list[tuple[Incident, str]]:
    """Try each incident in a task of its own; their journals lie where those of one machine do."""
    whole = msgspec.structs.replace(options, out=os.path.abspath(options.out))
    names = [str(each.resolve()) for each in folders]
    return mapped(in_task, names, whole, options.scheduler, options.jobs, progress)


def in_task(
    folder: str, options: Options, progress: Progress, stopping: Callable[[Callable[[], None]], None]
) -> tuple[Incident, str]:
    """Try one incident in a worker of a cluster: one process at a time, for other tasks have the other cores."""
    _check_folder(Path(folder))
    unit = _Unit(Path(folder), operator_set(options.operators), options, 1, progress)
    stopping(unit.stop)
    return unit.run(), unit.digest


class _Tried(NamedTuple):
    """A mutant with the text that it makes."""

    mutant: Mutant
    text: str


class _Unit:
    """The study of one incident."""

    def __init__(
        self, folder: Path, operators: OperatorSet, options: Options, width: int, progress: Progress
    ) -> None:
        self.folder = folder.resolve()
        self.name = self.folder.name
        self._shown = folder
        self._operators = operators
        self._options = options
        self._width = width
        self._progress = progress
        self._crews: dict[tuple[Server, bool], Crew] = {}
        self._nursery: Nursery | None = None
        self._reruns = False
        """Whether the tests run the agent in processes of their own, where code that is replaced here is not found."""
        self._is_stopped = False
        self.digest = _digest(self.folder, operators, options)
        self._sources: dict[str, str] = {}

    def stop(self) -> None:
        """Have it end soon."""
        self._is_stopped = True
        for crew in list(self._crews.values()):
            crew.end()

    def run(self) -> Incident:
        """Try it all."""
        key = f"{self.digest} {sys.version_info[0]}.{sys.version_info[1]} {self._options.shard}"
        self._journal = Journal(os.path.join(self._options.out, "journal", f"{self.name}.jsonl"), key)
        try:
            return self._studied()
        finally:
            for crew in self._crews.values():
                crew.end()
            if self._nursery is not None:
                self._nursery.end()
            self._journal.close()

    def _studied(self) -> Incident:
        cut = self._ready("cut")
        fix = _fix(cut)
        if fix.kind != "passed":
            raise UsageError(
                f"{self._shown}: its test fails before anything is mutated ({fix.said}); mend that first, with"
                f" `pytest {self._shown}`"
            )
        self._reruns = fix.reran
        made = [
            generate(self.folder, self.name, each, self._operators, everything=self._options.everything)
            for each in cut.targets
        ]
        for each, target in zip(made, cut.targets, strict=True):
            self._sources[target.file] = each.source
        mutants = [
            _Tried(mutant, mutated(each.source, mutant))
            for each in made
            for mutant in each.mutants
            if is_in_shard(mutant.id, self._options.shard)
        ]
        baseline = self._baseline(cut, fix)
        canaries = self._canaries(cut, baseline)
        replies = self._replies(mutants, baseline)
        results = [
            scoring.scored(
                each.mutant, replies[each.mutant.id], baseline, self._diff(each), self._proof(each.mutant)
            )
            for each in mutants
        ]
        self._refuse_flaky(fix)
        inputs, sensitivity = _inputs(baseline, results)
        return Incident(
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
        )

    # --- processes ---------------------------------------------------------------------------------------------------

    def _crew(self, server: Server, *, rebuilds: bool = False) -> Crew:
        key = (server, rebuilds)
        if key not in self._crews:
            cut = self._journal.ready("cut")
            asked = Asked(
                server=server,
                paths=tuple(str(each) for each in sorted(self.folder.glob("test_*.py"))),
                folder=str(self.folder),
                memory=self._options.memory,
                timeout=self._options.timeout,
                targets=_tools(self._options.tools) if cut is None else cut.targets,
                swaps={} if cut is None or server != "mocks" else cut.swaps,
                inputs=self._options.inputs,
                rebuilds=rebuilds,
            )
            self._crews[key] = Crew(self._nursed(), asked, self._width)
        if self._is_stopped:
            raise KeyboardInterrupt
        return self._crews[key]

    def _nursed(self) -> Nursery:
        if self._nursery is None:
            self._nursery = Nursery(_SERVER, str(self.folder), 4 * self._width)
        return self._nursery

    def _ready(self, server: Server) -> Ready:
        """Start a process of a kind, or know from the journal what it says."""
        known = self._journal.ready(server)
        if known is not None:
            return known
        try:
            ready = self._crew(server).first()
        except UsageError as error:
            raise UsageError(f"{self._shown}: {error.message}") from error
        self._journal.began(server, ready)
        return ready

    def _baseline(self, cut: Ready, fix: Reply) -> scoring.Baseline:
        """Have the fix tried by each method, and by the cut-point test twice."""
        second = self._tested("cut", Job(id="again", variant="fix"))
        if second.kind != fix.kind:
            raise UsageError(_flaky(self._shown, fix, second))
        return scoring.Baseline(
            fix=fix,
            recorded=cut.recorded,
            stub=_fix(self._ready("stub")).kind,
            mocks=self._mocks(),
            widened=None if self._reruns else _fix(self._ready("widen")),
            volatile=scoring.volatile_in(fix, second),
        )

    def _mocks(self) -> Kind | None:
        """Give how tests without a trace end with the fix; None where there are none."""
        known = self._journal.ready("mocks")
        if known is None:
            try:
                known = self._crew("mocks").first()
            except UsageError as error:
                if "there is no test" in error.message:
                    known = Ready(fault=error.message)
                else:
                    raise UsageError(f"{self._shown}: {error.message}") from error
            self._journal.began("mocks", known)
        return None if known.fault else _fix(known).kind

    # --- trials --------------------------------------------------------------------------------------------------------

    def _canaries(self, cut: Ready, baseline: scoring.Baseline) -> tuple[Canary, ...]:
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

    def _replies(self, mutants: Sequence[_Tried], baseline: scoring.Baseline) -> dict[str, scoring.Trials]:
        """Have every mutant tried: by all methods that run the tests, and what they let live with other inputs."""
        servers: list[Server] = ["cut", "stub"]
        if baseline.mocks is not None:
            servers.append("mocks")
        total = len(mutants) * len(servers)
        done = 0
        found: dict[Server, dict[str, Reply]] = {}
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
            each.mutant.id: scoring.Trials(
                cut=found["cut"][each.mutant.id],
                stub=found["stub"][each.mutant.id],
                mocks=found["mocks"][each.mutant.id] if "mocks" in found else None,
                widened=widened.get(each.mutant.id),
            )
            for each in mutants
        }

    def _all(self, server: Server, mutants: Sequence[_Tried], done: int, total: int) -> dict[str, Reply]:
        """Have one process, or several, try all of these; what the journal knows is not tried again."""
        found = {
            each.mutant.id: known
            for each in mutants
            if (known := self._journal.reply(server, each.mutant.id)) is not None
        }
        texts = {each.mutant.id: each for each in mutants}

        def hear(reply: Reply) -> None:
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
            self._crew(server, rebuilds=self._reruns).run(jobs, hear)
        for each in again:
            hear(self._tested(server, _job(texts[each]), keeps=False))
        if self._is_stopped:
            raise KeyboardInterrupt
        return found

    def _tested(self, server: Server, job: Job, *, keeps: bool = True) -> Reply:
        """Have one thing tried, with the modules loaded anew where it must be."""
        known = self._journal.reply(server, job.id) if keeps else None
        if known is None:
            known = self._crew(server, rebuilds=self._reruns).ask(job)
            if known.must_rebuild and not self._reruns:
                known = self._crew(server, rebuilds=True).ask(job)
                if known.must_rebuild:
                    raise UsageError(f"{self._shown}: {job.id} can't be tried: {known.must_rebuild}")
            if keeps:
                self._journal.tried(server, known)
        return known

    def _agreement(self, mutants: Sequence[_Tried], results: Sequence[Result]) -> tuple[Agreement, ...]:
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
            Agreement(each.mutant.id, verdicts[each.mutant.id], bool(self._journal.agreed(each.mutant.id)))
            for each in wanted
        ]
        return tuple(sorted(found, key=lambda each: each.mutant))

    def _refuse_flaky(self, fix: Reply) -> None:
        """Try the fix once more at the end: a test that passes at times says nothing of mutants."""
        if ("cut", False) not in self._crews:  # all that was needed stands in the journal
            return
        last = self._crew("cut").ask(Job(id="last", variant="fix"))
        if last.kind != fix.kind:
            raise UsageError(_flaky(self._shown, fix, last))

    def _diff(self, each: _Tried) -> str:
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

    def _proof(self, mutant: Mutant) -> str:
        return next(
            (
                each.why
                for each in self._options.proofs
                if (each.incident, each.mutant) == (self.name, mutant.id)
            ),
            "",
        )


_REMEDY = {
    "mocks": "mend that test, or take it out of the folder",
    "full-stub": "the test does something that depends on the tool though it is served; look at what it calls itself",
}
_REMEDY_ELSE = "let the test look at what the tool gives"


def _word(reply: Reply) -> str:
    return "passes" if reply.kind == "passed" else "fails"


def _flaky(folder: Path, one: Reply, other: Reply) -> str:
    said = one.said or other.said
    return (
        f"{folder}: its test is flaky: with the same code it {_word(one)}, and then it {_word(other)} ({said}); what a mutant"
        " does could not be told from that. Make what differs a boundary (`autochron check`), and record again"
    )


def _fix(ready: Ready) -> Reply:
    assert ready.fix is not None  # noqa: S101 - it has no fault
    return ready.fix


def sample(mutants: Sequence[_Tried], share: float) -> list[_Tried]:
    """Choose a share of the mutants, one at least, by a hash of their ids: the same ones each time."""
    count = min(len(mutants), max(1, round(share * len(mutants))))
    return sorted(mutants, key=lambda each: hashlib.sha256(f"sample {each.mutant.id}".encode()).digest())[
        :count
    ]


def _job(each: _Tried) -> Job:
    mutant = each.mutant
    return Job(
        id=mutant.id, variant="mutant", target=mutant.target, text=each.text, rebuilds=mutant.at_import
    )


def is_in_shard(mutant: str, shard: tuple[int, int]) -> bool:
    """Tell whether a mutant is one of a shard's: by its id, so that it is the same everywhere."""
    which, count = shard
    return int(hashlib.sha256(mutant.encode()).hexdigest(), 16) % count == which - 1


def raising(source: str, function: str) -> str:
    """Give a source in which a function raises, and does nothing else.

    Raises:
        UsageError: it has no such function.
    """
    tree: ast.AST = ast.parse(source)
    for step in function.split("."):
        if step != "<locals>":
            tree = next(
                each
                for each in ast.walk(tree)
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                and each.name == step
            )
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101 - its mutants were made
    first, last = tree.body[0], tree.body[-1]
    lines = source.splitlines(keepends=True)
    yields = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(tree))
    body = 'raise RuntimeError("a canary of autochron")' + ("; yield" if yields else "")
    before = (
        "".join(lines[: first.lineno - 1]) + lines[first.lineno - 1].encode()[: first.col_offset].decode()
    )
    after = lines[(last.end_lineno or 0) - 1].encode()[last.end_col_offset or 0 :].decode()
    return before + body + after + "".join(lines[last.end_lineno or 0 :])


def _tools(words: Sequence[str]) -> tuple[Target, ...]:
    found = []
    for word in words:
        file, colon, function = word.rpartition(":")
        if not colon or not file or not function:
            raise UsageError(f"--tool {word}: name a function as FILE:NAME, from the incident's folder")
        found.append(Target(Path(file).as_posix(), function))
    return tuple(found)


def _digest(folder: Path, operators: OperatorSet, options: Options) -> str:
    """Give a digest of what the results of an incident depend on."""
    found = hashlib.sha256(
        msgspec.json.encode((__version__, operators, options.tools, options.inputs, options.everything))
    )
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.suffix in {".py", ".toml", ".ini", TRACE}:
            found.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return found.hexdigest()[:16]


def _inputs(
    baseline: scoring.Baseline, results: Sequence[Result]
) -> tuple[tuple[Input, ...], tuple[Sensitivity, ...]]:
    """Give the inputs that were tried, with those that a set cover keeps, and which argument can flip the decision."""
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
