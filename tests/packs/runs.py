"""Record a program of a pack's once and replay it twice, each time in a process of its own, its provider stopped."""

import shutil
from pathlib import Path
from types import SimpleNamespace

from autochron import provider
from autochron.provider import Call, Script, Step
from autochron.store import open_store
from tests.agents.cases import Case
from tests.agents.workshop import Fresh, assert_same, record

PROGRAMS = Path(__file__).parent / "programs"

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


def kept(folder, name, variables, tools=""):
    """Give what was recorded, after two replays that were the same; `variables` makes a program's of a provider."""
    case, runner = Case(name, tools), Fresh()
    shutil.copy(PROGRAMS / f"{name}.py", folder)
    (folder / "autochron.toml").write_text(case.rule_file(), encoding="utf-8")
    with provider.serve(script=SCRIPT) as model:
        recorded = _recorded(runner, case, folder, variables(model))
        calls = model.calls
        assert calls > 0
        # With the provider there: a replay calls it no more than with the provider gone.
        assert_same(recorded, runner.run(folder, "replay", "last", **variables(model)), 0)
        assert model.calls == calls
    assert_same(recorded, runner.run(folder, "replay", "last", **_without_keys(variables(_GONE))), 0)
    return trace_of(folder)


def trace_of(folder):
    """Give what was recorded last in a folder."""
    return open_store(str(folder / ".autochron" / "traces.db")).load("last")


def _without_keys(variables):
    return {name: value for name, value in variables.items() if "KEY" not in name}


def _recorded(runner, case, folder, variables):
    class Told:
        """Runs with the program's own variables."""

        def run(self, *arguments, **more):
            return runner.run(*arguments, **more, **variables)

    ran = record(Told(), case, folder)
    assert "(no-exchange)" not in ran.stderr, ran.stderr
    assert ran.stdout
    return ran


def addresses(trace):
    """Give the addresses of a trace, in the order of their start."""
    return [envelope.address for envelope in trace.envelopes]
