"""Record a program of a pack's once and replay it twice, each time in a process of its own, its provider stopped."""

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
        Step(when=("weather",), turn=0, text="Let me see.", calls=(Call.of("weather", city="Oslo"),)),
        Step(when=("weather",), text="It is {random}."),
        Step(text="{random} {random} {random}"),
    )
)


_GONE = SimpleNamespace(origin="http://127.0.0.1:9", url="http://127.0.0.1:9/v1")
"""A provider that is not there."""


def kept(folder, name, variables, tools="", findings=()):
    """Return what was recorded, after two replays that were the same; `variables` makes a program's of a provider."""
    case = set_up(folder, Case(name, tools, findings=findings))
    with provider.serve(script=SCRIPT) as model:
        runner = Surrounded(variables(model))
        recorded = workshop.record(runner, case, folder)
        assert "(no-exchange)" not in recorded.stderr, recorded.stderr
        assert recorded.stdout
        calls = model.calls
        assert calls > 0
        # With the provider there: a replay calls it no more than with the provider gone.
        assert_same(recorded, runner.run(folder, "replay", "last"), 0)
        assert model.calls == calls
    gone = Surrounded(_without_keys(variables(_GONE)))
    assert_same(recorded, gone.run(folder, "replay", "last"), 0)
    return trace_of(folder)


def _without_keys(variables):
    return {name: value for name, value in variables.items() if "KEY" not in name}


def addresses(trace):
    """Return the addresses of a trace, in the order of their start."""
    return [envelope.address for envelope in trace.envelopes]
