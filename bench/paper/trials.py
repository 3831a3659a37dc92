"""What the methods of testing say of each incident: every figure is a trial in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct, json

from autochron import provider
from autochron.model import Envelope
from autochron.store import open_store
from incidents.suite import INCIDENTS, Incident
from incidents.trial import REWORDINGS, VARIANTS, Result

REPLAYS, FRESH = 20, 3
"""How often each incident is replayed, and how often of that in an interpreter of its own."""

TIMEOUT = 300.0

Job = dict[str, Any]
Progress = Callable[[str], None]


class Row(Struct, frozen=True, kw_only=True):
    """One incident.

    Attributes:
        detected: whether the cut-point test fails on the unguarded tool.
        fixed, benign: whether it passes on the fix, and on that after an unrelated edit.
        reworded: how many of the rewordings it passes on.
        stubbed, mocked: whether a test that serves everything, or one of mocks, fails on the unguarded tool.
        replays, divergent: full replays, and those that differed in what crossed or was printed.
        live_models: models that ran in any of these.
        with_model: whether the test passes on the fix with the models live that hear of it.
        called: how often the provider was asked for that.
        crossings, boundaries: what was recorded, and of how many boundaries; none is marked in the agent's source.
        stored: bytes of the trace file.
        models, tokens_in, tokens_out: calls of a model in one run of the agent, and what they take.
        full_stub, cut_point: seconds of one replay.
    """

    name: str
    title: str
    sdk: str
    paper: str
    detected: bool
    fixed: bool
    benign: bool
    reworded: int
    rewordings: int = len(REWORDINGS)
    stubbed: bool
    mocked: bool
    replays: int
    divergent: int
    live_models: int
    with_model: bool
    called: int
    crossings: int
    boundaries: int
    stored: int
    models: int
    tokens_in: int
    tokens_out: int
    full_stub: float
    cut_point: float


def measure(incident: Incident, timed: int, progress: Progress) -> Row:
    """Try one incident in every way."""
    progress(incident.name)
    jobs: list[Job] = [{"method": "cut-point", "variant": each} for each in VARIANTS]
    jobs += [{"method": method, "variant": "unguarded"} for method in ("full-stub", "mocks")]
    jobs += [{"method": "full-stub", "variant": "unguarded"}] * (REPLAYS - FRESH)
    jobs += [
        {"method": "full-stub", "variant": "unguarded", "times": timed},
        {"method": "cut-point", "variant": "guarded", "times": timed},
    ]
    said = tried(incident, jobs)
    cut = {each.variant: each for each in said[: len(VARIANTS)]}
    stubbed, mocked = said[len(VARIANTS) : len(VARIANTS) + 2]
    replays = [*said[len(VARIANTS) + 2 : -2]]
    for _ in range(FRESH):
        replays += tried(incident, [{"method": "full-stub", "variant": "unguarded"}])
    model, called = with_model(incident)
    envelopes = open_store(str(incident.folder / "trace.jsonl")).load("last").envelopes
    usage = [_usage(each) for each in envelopes if each.kind == "model"]
    return Row(
        name=incident.name,
        title=incident.title,
        sdk=incident.sdk,
        paper=incident.paper,
        detected=not cut["unguarded"].passed,
        fixed=cut["guarded"].passed,
        benign=cut["benign"].passed,
        reworded=sum(each.passed for name, each in cut.items() if name.startswith("reworded")),
        stubbed=not stubbed.passed,
        mocked=not mocked.passed,
        replays=len(replays),
        divergent=sum(not each.passed or each.output != replays[0].output for each in replays),
        live_models=sum(len(_models(each.live, envelopes)) for each in [*said, *replays]),
        with_model=model.passed,
        called=called,
        crossings=len(envelopes),
        boundaries=len({each.name for each in envelopes}),
        stored=(incident.folder / "trace.jsonl").stat().st_size,
        models=len(usage),
        tokens_in=sum(given for given, _ in usage),
        tokens_out=sum(said for _, said in usage),
        full_stub=said[-2].seconds,
        cut_point=said[-1].seconds,
    )


def tried(incident: Incident, jobs: Sequence[Job], model: provider.Provider | None = None) -> list[Result]:
    """Make trials in one new process, without a key and without a provider unless one is given."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))
    }
    environment |= {"NO_PROXY": "*", "PYTHONPATH": str(INCIDENTS.parent)}
    if model is not None:
        environment |= {"OPENAI_BASE_URL": model.url, "ANTHROPIC_BASE_URL": model.origin}
        environment |= {"OPENAI_API_KEY": "sk-suite", "ANTHROPIC_API_KEY": "sk-suite"}
    done = subprocess.run(
        [sys.executable, "-m", "incidents.trial", str(incident.folder)],
        input=json.encode(jobs),
        env=environment,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    results = [json.decode(line, type=Result) for line in done.stdout.splitlines()]
    if done.returncode or len(results) != len(jobs):
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"{incident.name} can't be tried: {said[-1] if said else 'no reason is given'}")
    return results


def with_model(incident: Incident) -> tuple[Result, int]:
    """Replay the fix with the models live that hear of it: the provider must be up."""
    with provider.serve(script=incident.folder / "provider.json", seed=7) as model:
        (result,) = tried(incident, [{"method": "model", "variant": "guarded"}], model)
        return result, model.calls


def _models(live: Iterable[str], envelopes: Iterable[Envelope]) -> list[str]:
    names = {each.address for each in envelopes if each.kind == "model"}
    return [address for address in live if address in names]


_GIVEN = ("input_tokens", "prompt_tokens")
_SAID = ("output_tokens", "completion_tokens")


def _usage(envelope: Envelope) -> tuple[int, int]:
    """Give the tokens that a model call took and gave, as its provider counts them."""
    usage = json.decode(envelope.meta).get("usage") or {}
    given, said = (
        next((int(usage[name]) for name in names if usage.get(name)), 0) for names in (_GIVEN, _SAID)
    )
    return given, said
