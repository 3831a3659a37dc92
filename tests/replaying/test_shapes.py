"""Every shape of boundary, however it ends: a replay's caller observes what the recording's caller observed."""

import contextlib
import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import autochron
from autochron.store.tracefile import write_trace
from tests.replaying import shaped, shapes
from tests.replaying.shapes import CASES

ROOT = Path(__file__).resolve().parents[2]
RECORDED, REPLAYED = 1, 2


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    """Return the rule file for the boundaries of the corpus."""
    file = tmp_path_factory.mktemp("shapes") / "autochron.toml"
    file.write_text(shaped.rules(Path(__file__).parent), encoding="utf-8")
    return str(file)


@dataclass
class Recorded:
    """A recorded case, what its caller observed, and what the caller observes in another run that is live."""

    trace: object
    observed: list
    observed_live: list
    """What the same caller observes live, in a run with the replay's number."""


def run(number, function, session=contextlib.nullcontext()):
    """Run a function in a world where everything shows this number. Return what it observed, and which bodies ran."""
    shaped.NOW.number = number
    shaped.NOW.ran.clear()
    shaped.RNG.seed(number)
    with contextlib.redirect_stdout(io.StringIO()) as out, session:
        observed = function()
    return (observed, out.getvalue()), list(shaped.NOW.ran)


def agent(name):
    """Ask a model, run the case, and ask again."""
    return [shaped.ask("before"), shapes.observed(name), shaped.ask("after")]


def nested(name):
    """Do the same as `agent`, with the case inside another boundary."""
    return [shaped.ask("before"), shaped.parent(name), shaped.ask("after")]


def record(rules, function):
    observed, bodies = run(RECORDED, function)
    observed_live, live_bodies = run(REPLAYED, function)
    recording = autochron.record(store="memory:", rules=rules)
    observed_in_recording, recorded_bodies = run(RECORDED, function, recording)
    assert (observed_in_recording, recorded_bodies) == (observed, bodies)
    assert recording.problems == ()
    assert list(recording.trace().footer.ledger) == []
    return Recorded(recording.trace(), observed, observed_live), live_bodies


def replay(rules, trace, function, **more):
    replaying = autochron.replay(trace, rules=rules, **more)
    observed, bodies = run(REPLAYED, function, replaying)
    return (
        observed,
        bodies,
        [divergence for divergence in replaying.divergences if divergence.severity != "consequence"],
    )


def mixed(live, recorded):
    """Return what is observed if the case is live and the models beside it are served."""
    (live_results, out), (recorded_results, _) = live, recorded
    return [recorded_results[0], live_results[1], recorded_results[2]], out


def without(bodies, *names):
    return [body for body in bodies if body not in names]


LIVE = [name for name, case in CASES.items() if case.names]
ALL_CASES = [pytest.param(name, marks=case.marks) for name, case in CASES.items()]


@pytest.mark.parametrize("name", ALL_CASES)
def test_stubbed_equals_live(name, rules):
    recorded, _ = record(rules, lambda: agent(name))
    assert replay(rules, recorded.trace, lambda: agent(name)) == (recorded.observed, [], [])


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_CASES)
def test_stubbed_equals_live_twenty_times(name, rules):
    recorded, _ = record(rules, lambda: agent(name))
    for _ in range(20):
        assert replay(rules, recorded.trace, lambda: agent(name)) == (recorded.observed, [], [])


@pytest.mark.parametrize("name", LIVE)
def test_a_live_shape_beside_a_stubbed_model(name, rules):
    recorded, bodies = record(rules, lambda: agent(name))
    live = replay(rules, recorded.trace, lambda: agent(name), live="kind:tool")
    assert live == (mixed(recorded.observed_live, recorded.observed), without(bodies, "ask"), [])


@pytest.mark.parametrize("name", ALL_CASES)
def test_a_stubbed_shape_inside_of_a_live_parent(name, rules):
    recorded, _ = record(rules, lambda: nested(name))
    assert replay(rules, recorded.trace, lambda: nested(name), live="parent") == (
        recorded.observed,
        ["parent"],
        [],
    )


@pytest.mark.parametrize("name", LIVE)
def test_a_live_shape_inside_of_a_stubbed_parent_opens_it(name, rules):
    recorded, bodies = record(rules, lambda: nested(name))
    with_live = replay(rules, recorded.trace, lambda: nested(name), live=list(CASES[name].names))
    assert with_live == (mixed(recorded.observed_live, recorded.observed), without(bodies, "ask"), [])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.marks])
def test_a_shape_that_cannot_be_served_is_reported_by_the_recording_and_refused_on_replay(name, rules):
    recorded, _ = record(rules, lambda: agent(name))
    refused = [envelope for envelope in recorded.trace.envelopes if envelope.opaque]
    assert refused
    assert all(envelope.opaque[0].startswith("(value): ") for envelope in refused)
    observed, _, divergences = replay(rules, recorded.trace, lambda: agent(name), check=False)
    assert "OpaqueError" in str(observed)
    assert divergences[0].message.startswith(f"{refused[0].address} can't be served")


def test_reading_a_builtin_iterator_after_its_error_works_in_the_recording_and_not_on_replay(rules):
    def use():
        stream = shaped.mapped_and_refusing(2)
        return [next(stream), shapes.attempt(lambda: next(stream)), shapes.attempt(lambda: next(stream))]

    recorded, _ = record(rules, use)
    observed, _, divergences = replay(rules, recorded.trace, use, check=False)
    assert observed[0][:2] == recorded.observed[0][:2]
    assert "read further than when it was recorded (after its error)" in divergences[0].message


@pytest.mark.parametrize("name", ["a_value", "a_generator"])
def test_a_stubbed_parent_does_not_run(name, rules):
    recorded, _ = record(rules, lambda: nested(name))
    (observed, _), bodies, divergences = replay(rules, recorded.trace, lambda: nested(name))
    assert (observed, bodies, divergences) == (recorded.observed[0], [], [])


def replay_all(folder):
    """Replay every trace of a folder in this process: `python -m tests.replaying.test_shapes FOLDER`."""
    for name, recorded in json.loads((folder / "seen.json").read_text(encoding="utf-8")).items():
        trace = str(folder / f"{name}.jsonl")
        observed, bodies, divergences = replay(str(folder / "autochron.toml"), trace, lambda: agent(name))
        assert (json.loads(json.dumps(observed)), bodies, divergences) == (recorded, [], []), name


@pytest.mark.slow
def test_stubbed_equals_live_in_fresh_processes(rules):
    folder, observed = Path(rules).parent, {}
    for name, case in CASES.items():
        if not case.marks:
            recorded, _ = record(rules, lambda: agent(name))
            write_trace(recorded.trace, str(folder / f"{name}.jsonl"))
            observed[name] = recorded.observed
    (folder / "seen.json").write_text(json.dumps(observed), encoding="utf-8")
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-m", "tests.replaying.test_shapes", str(folder)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    replay_all(Path(sys.argv[1]))
