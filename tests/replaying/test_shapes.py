"""Every shape of boundary, however it ends: what its caller observes is what it observed when it was recorded."""

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
    """A case that was recorded, what was observed, and what would be in another run."""

    trace: object
    then: list
    now: list
    """What the same caller observes live, in the run that is to be the replay."""


def run(number, function, session=contextlib.nullcontext()):
    """Run in a world where everything shows this number; give what was observed, and whose bodies ran."""
    shaped.NOW.number = number
    shaped.NOW.ran.clear()
    shaped.RNG.seed(number)
    with contextlib.redirect_stdout(io.StringIO()) as out, session:
        seen = function()
    return (seen, out.getvalue()), list(shaped.NOW.ran)


def agent(name):
    """Ask a model, do what the case does, and ask again."""
    return [shaped.ask("before"), shapes.observed(name), shaped.ask("after")]


def nested(name):
    """Do what the case does inside of another boundary."""
    return [shaped.ask("before"), shaped.parent(name), shaped.ask("after")]


def record(rules, function):
    then, ran_then = run(RECORDED, function)
    now, ran_now = run(REPLAYED, function)
    recording = autochron.record(store="memory:", rules=rules)
    recorded, ran = run(RECORDED, function, recording)
    assert (recorded, ran) == (then, ran_then)
    assert recording.problems == ()
    assert list(recording.trace().footer.ledger) == []
    return Recorded(recording.trace(), then, now), ran_now


def replay(rules, trace, function, **more):
    replaying = autochron.replay(trace, rules=rules, **more)
    seen, ran = run(REPLAYED, function, replaying)
    return seen, ran, [each for each in replaying.divergences if each.severity != "consequence"]


def mixed(live, then):
    """Return what is observed where the case is live and the models beside it are not."""
    (seen, out), (recorded, _) = live, then
    return [recorded[0], seen[1], recorded[2]], out


def without(ran, *names):
    return [each for each in ran if each not in names]


LIVE = [name for name, each in CASES.items() if each.names]
WHOLE = [pytest.param(name, marks=each.marks) for name, each in CASES.items()]


@pytest.mark.parametrize("name", WHOLE)
def test_stubbed_equals_live(name, rules):
    recorded, _ = record(rules, lambda: agent(name))
    assert replay(rules, recorded.trace, lambda: agent(name)) == (recorded.then, [], [])


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_stubbed_equals_live_twenty_times(name, rules):
    recorded, _ = record(rules, lambda: agent(name))
    for _ in range(20):
        assert replay(rules, recorded.trace, lambda: agent(name)) == (recorded.then, [], [])


@pytest.mark.parametrize("name", LIVE)
def test_a_live_shape_beside_a_stubbed_model(name, rules):
    recorded, ran = record(rules, lambda: agent(name))
    live = replay(rules, recorded.trace, lambda: agent(name), live="kind:tool")
    assert live == (mixed(recorded.now, recorded.then), without(ran, "ask"), [])


@pytest.mark.parametrize("name", WHOLE)
def test_a_stubbed_shape_inside_of_a_live_parent(name, rules):
    recorded, _ = record(rules, lambda: nested(name))
    assert replay(rules, recorded.trace, lambda: nested(name), live="parent") == (
        recorded.then,
        ["parent"],
        [],
    )


@pytest.mark.parametrize("name", LIVE)
def test_a_live_shape_inside_of_a_stubbed_parent_opens_it(name, rules):
    recorded, ran = record(rules, lambda: nested(name))
    with_live = replay(rules, recorded.trace, lambda: nested(name), live=list(CASES[name].names))
    assert with_live == (mixed(recorded.now, recorded.then), without(ran, "ask"), [])


@pytest.mark.parametrize("name", [name for name, each in CASES.items() if each.marks])
def test_what_cannot_be_equal_is_named_when_it_is_recorded_and_refused_on_replay(name, rules):
    recorded, _ = record(rules, lambda: agent(name))
    refused = [each for each in recorded.trace.envelopes if each.opaque]
    assert refused
    assert all(each.opaque[0].startswith("(value): ") for each in refused)
    seen, _, divergences = replay(rules, recorded.trace, lambda: agent(name), check=False)
    assert "OpaqueError" in str(seen)
    assert divergences[0].message.startswith(f"{refused[0].address} can't be served")


def test_a_builtin_iterator_that_goes_on_after_an_error_does_so_while_it_is_recorded(rules):
    def use():
        stream = shaped.mapped_and_refusing(2)
        return [next(stream), shapes.attempt(lambda: next(stream)), shapes.attempt(lambda: next(stream))]

    recorded, _ = record(rules, use)
    seen, _, divergences = replay(rules, recorded.trace, use, check=False)
    assert seen[0][:2] == recorded.then[0][:2]
    assert "read further than when it was recorded (after its error)" in divergences[0].message


@pytest.mark.parametrize("name", ["a_value", "a_generator"])
def test_a_stubbed_parent_does_not_run(name, rules):
    recorded, _ = record(rules, lambda: nested(name))
    (seen, _), ran, divergences = replay(rules, recorded.trace, lambda: nested(name))
    assert (seen, ran, divergences) == (recorded.then[0], [], [])


def same_elsewhere(folder):
    """Replay every trace of a folder in this process: `python -m tests.replaying.test_shapes FOLDER`."""
    for name, then in json.loads((folder / "seen.json").read_text(encoding="utf-8")).items():
        trace = str(folder / f"{name}.jsonl")
        seen, ran, divergences = replay(str(folder / "autochron.toml"), trace, lambda: agent(name))
        assert (json.loads(json.dumps(seen)), ran, divergences) == (then, [], []), name


@pytest.mark.slow
def test_stubbed_equals_live_in_fresh_processes(rules):
    folder, seen = Path(rules).parent, {}
    for name, each in CASES.items():
        if not each.marks:
            recorded, _ = record(rules, lambda: agent(name))
            write_trace(recorded.trace, str(folder / f"{name}.jsonl"))
            seen[name] = recorded.then
    (folder / "seen.json").write_text(json.dumps(seen), encoding="utf-8")
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
    same_elsewhere(Path(sys.argv[1]))
