"""What the methods of testing say of each incident: every figure is a trial in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, Self, cast

from msgspec import Struct, json, structs

from autochron import provider
from autochron.model import Envelope
from autochron.provider import ProviderError, ScriptError
from autochron.store import open_store
from incidents.suite import Incident, IncidentError, reaching, surroundings
from incidents.trial import REWORDINGS, VARIANTS, Job, Result

REPLAYS, FRESH = 20, 3
"""How often each incident is replayed, and how often of that in an interpreter of its own."""

TIMEOUT = 300.0


class Row(Struct, frozen=True, kw_only=True):
    """One incident.

    Attributes:
        detected: whether the cut-point test fails on the unguarded tool.
        fixed, benign: whether it passes on the fix, and on that after an unrelated edit.
        reworded: how many of the rewordings it passes on.
        through: whether the run that must still go through does, with the unguarded tool and with each that has the guard;
            False in studies that did not try it.
        stubbed, mocked: whether a test that serves everything, or one of mocks, fails on the unguarded tool.
        replays, divergent: full replays, and those that differed in what crossed or was printed.
        live_models: models that ran in any of these.
        reached: how often any of these connected to something; there was no provider.
        with_model: whether the test passes on the fix with the models live that hear of it, and they asked the provider,
            which is seen there and by what counts connections.
        called: how often it was.
        marks: lines of the agent that name autochron.
        crossings, boundaries: what was recorded, and of how many boundaries.
        stored: bytes of the trace file.
        models, tokens_in, tokens_out: calls of a model in one run of the agent, and what they take.
        full_stub, cut_point: seconds of one replay, of the processor's: others use the machine, too.
        mutants, killed: mutants of the guarded tool, and those that the cut-point test kills; 0 before the study of them.
        wrong: what was not as it should be, and what was said of it.
    """

    name: str
    title: str
    sdk: str
    paper: str
    detected: bool
    fixed: bool
    benign: bool
    reworded: int
    through: bool = False
    rewordings: int = len(REWORDINGS)
    stubbed: bool
    mocked: bool
    replays: int
    divergent: int
    live_models: int
    reached: int
    with_model: bool
    called: int
    marks: int
    crossings: int
    boundaries: int
    stored: int
    models: int
    tokens_in: int
    tokens_out: int
    full_stub: float
    cut_point: float
    mutants: int = 0
    killed: int = 0
    wrong: tuple[str, ...] = ()


FULL_STUB = Job("full-stub", "unguarded")
FIXED = Job("cut-point", "guarded")
MOCKS = Job("mocks", "unguarded")


class Trials:
    """A process in which an incident is tried, each time in a fork: with no key, and no provider unless one is given."""

    def __init__(self, incident: Incident) -> None:
        self._incident = incident
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed on leaving
        self._process = subprocess.Popen(
            [sys.executable, "-m", "incidents.trial", str(incident.folder)],
            env=surroundings(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,  # so that a fork that hangs is ended with it
        )
        self._late = threading.Timer(TIMEOUT, self._end)

    def __enter__(self) -> Self:
        self._late.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._late.cancel()
        self._end()
        self._process.communicate()
        self._said.close()

    def tried(self, *jobs: Job, model: provider.Provider | None = None) -> list[Result]:
        """Make trials.

        Raises:
            IncidentError: the incident can't be tried.
        """
        environment = {} if model is None else reaching(model)
        return [self._tried(Job(each.method, each.variant, each.times, environment)) for each in jobs]

    def _tried(self, job: Job) -> Result:
        asked, told = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        with suppress(BrokenPipeError):
            asked.write(json.encode(job) + b"\n")
            asked.flush()
        line = told.readline()
        if line:
            return json.decode(line, type=Result)
        self._process.wait()
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").strip().splitlines()
        late = f"{job.method} of {job.variant} has not ended in {TIMEOUT:g} s"
        reason = (
            late
            if self._process.returncode == -signal.SIGKILL
            else said[-1]
            if said
            else "no reason is given"
        )
        raise IncidentError(f"{self._incident.name} can't be tried: {reason}")

    def _end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def measure(incident: Incident, timed: int, *, replays: int = REPLAYS, fresh: int = FRESH) -> Row:
    """Try one incident in every way; `timed` says how often a replay is timed, if at all.

    Raises:
        IncidentError: it can't be tried.
    """
    with Trials(incident) as trials:
        served = trials.tried(
            *[FULL_STUB] * (replays - fresh + 1)
        )  # the first in a new interpreter, as those below
        (mocked,) = trials.tried(MOCKS)
        cut = {each.variant: each for each in trials.tried(*(Job("cut-point", each) for each in VARIANTS))}
        twins = trials.tried(*(Job("twin", each) for each in VARIANTS))
        model, called = with_model(trials, incident)
        jobs = [Job(each.method, each.variant, timed) for each in (FULL_STUB, FIXED)] if timed else []
        times = [each.seconds for each in trials.tried(*jobs)]
    for _ in range(fresh - 1):
        with Trials(incident) as trials:
            served += trials.tried(FULL_STUB)
    envelopes = open_store(str(incident.folder / "trace.jsonl")).load("last").envelopes
    usage = [_usage(each) for each in envelopes if each.kind == "model"]
    alone = [*cut.values(), *twins, *served, mocked]
    asking = len(_models(model.live, envelopes))
    row = Row(
        name=incident.name,
        title=incident.title,
        sdk=incident.sdk,
        paper=incident.paper,
        detected=cut["unguarded"].failed,
        fixed=cut["guarded"].passed,
        benign=cut["benign"].passed,
        reworded=sum(each.passed for name, each in cut.items() if name.startswith("reworded")),
        through=all(each.passed for each in twins),
        stubbed=served[0].failed,
        mocked=mocked.failed,
        replays=len(served),
        divergent=sum(not each.passed or each.output != served[0].output for each in served),
        live_models=sum(len(_models(each.live, envelopes)) for each in alone),
        reached=sum(len(each.reached) for each in alone),
        with_model=model.passed and called == asking > 0 and bool(model.reached),
        called=called,
        marks=incident.marks(),
        crossings=len(envelopes),
        boundaries=len({each.name for each in envelopes}),
        stored=(incident.folder / "trace.jsonl").stat().st_size,
        models=len(usage),
        tokens_in=sum(given for given, _ in usage),
        tokens_out=sum(said for _, said in usage),
        full_stub=times[0] if timed else 0.0,
        cut_point=times[1] if timed else 0.0,
    )
    return structs.replace(row, wrong=tuple(_wrong(row, cut, twins, served, mocked, model)))


def with_model(trials: Trials, incident: Incident) -> tuple[Result, int]:
    """Replay the fix with the models live that hear of it, and a provider up for them; tells how often it was called."""
    try:
        with provider.serve(script=incident.folder / "provider.json", seed=7) as model:
            (result,) = trials.tried(Job("model", "guarded"), model=model)
            return result, model.calls
    except (ProviderError, ScriptError) as error:
        raise IncidentError(f"{incident.name} has no model: {error}") from error


def _wrong(
    row: Row,
    cut: Mapping[str, Result],
    twins: Sequence[Result],
    served: Sequence[Result],
    mocked: Result,
    model: Result,
) -> Iterator[str]:
    """Say what is not as it should be, and what mends it."""
    for each in cut.values():
        if each.variant == "unguarded" and not each.failed:
            yield f"its test {each.verdict} on the unguarded tool{_because(each)}"
        elif each.variant != "unguarded" and not each.passed:
            yield f"its test {each.verdict} on the tool that is {each.variant}{_because(each)}"
    for each in twins:
        if not each.passed:
            yield f"its twin {each.verdict} on the tool that is {each.variant}{_because(each)}"
    if row.divergent:
        first = next((each for each in served if not each.passed), served[-1])
        because = _because(first) or ": it printed something else than the first"
        yield (
            f"its trace does not fit its agent{because}; if it is the agent that changed, record it anew:"
            f" python -m incidents.record {row.name}"
        )
    if mocked.verdict == "breaks":
        yield f"its test of mocks breaks{_because(mocked)}"
    if row.live_models or row.reached:
        yield f"{row.live_models} models ran and {row.reached} connections were made where everything is served"
    if not row.with_model:
        yield (
            f"with models live its test {model.verdict}{_because(model)}; the provider was called {row.called}×, and"
            f" {len(model.reached)} connections were seen"
        )


def _because(result: Result) -> str:
    return f": {result.why}" if result.why else ""


def _models(live: Iterable[str], envelopes: Iterable[Envelope]) -> list[str]:
    names = {each.address for each in envelopes if each.kind == "model"}
    return [address for address in live if address in names]


_GIVEN = ("input_tokens", "prompt_tokens")
_SAID = ("output_tokens", "completion_tokens")


def _usage(envelope: Envelope) -> tuple[int, int]:
    """Return the tokens that a model call took and gave, as its provider counts them."""
    usage = json.decode(envelope.meta).get("usage") or {}
    given, said = (
        next((int(usage[name]) for name in names if usage.get(name)), 0) for names in (_GIVEN, _SAID)
    )
    return given, said
