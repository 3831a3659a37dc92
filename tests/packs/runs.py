"""Record a program of a pack once and replay it twice, with its provider and without it, in new processes."""

from types import SimpleNamespace

from autochron import provider
from autochron.provider import Call, Script, Step
from tests.agents import workshop
from tests.agents.cases import Case
from tests.agents.workshop import assert_same
from tests.packs.harness import Surrounded, set_up, trace_of

SCRIPT = Script(
    (
        Step(when=("fail",), fault="400"),
        Step(when=("verdict",), text='{"verdict": "good"}'),
        Step(when=("weather",), turn=0, text="Let me see.", calls=(Call.of("weather", city="Oslo"),)),
        Step(when=("weather",), text="It is {random}."),
        Step(text="{random} {random} {random}"),
    )
)


_STOPPED = SimpleNamespace(origin="http://127.0.0.1:9", url="http://127.0.0.1:9/v1", grpc="localhost:9")
"""A provider that is not running."""


def record_and_replay_twice(folder, name, variables, tools="", findings=(), *, grpc=False):
    """Record a program, check that two replays are the same, and return the trace. `variables` takes the provider."""
    case = set_up(folder, Case(name, tools, findings=findings))
    with provider.serve(script=SCRIPT, grpc=grpc) as model:
        runner = Surrounded(variables(model))
        recorded = workshop.record(runner, case, folder)
        assert "(no-exchange)" not in recorded.stderr, recorded.stderr
        assert recorded.stdout
        calls = model.calls
        assert calls > 0
        # With the provider running: a replay doesn't call it.
        assert_same(recorded, runner.run(folder, "replay", "last"), 0)
        assert model.calls == calls
    without_provider = Surrounded(_without_keys(variables(_STOPPED)))
    assert_same(recorded, without_provider.run(folder, "replay", "last"), 0)
    return trace_of(folder)


def _without_keys(variables):
    return {name: value for name, value in variables.items() if "KEY" not in name}


def addresses(trace):
    """Return the addresses of a trace's crossings, in order of start."""
    return [envelope.address for envelope in trace.envelopes]
