"""Cut-points at which a replay could pass silently, fail needlessly, or run a body that was to be served."""

import importlib
import random
import sys
import threading

import pytest

import autochron
from autochron import provider
from autochron.errors import CodecError, DivergenceError, PlanError, StoreError, UsageError
from tests.agents.workshop import Block, Fresh, write
from tests.late import openai

ran = []


@autochron.boundary
def look_up(key):
    ran.append(("look_up", key))
    return {"key": key}


@autochron.boundary
def refund(order, cents=10):
    ran.append(("refund", order, cents))
    return {"order": order, "cents": cents}


@autochron.boundary(kind="model")
def ask(question):
    ran.append(("ask", question))
    return {"words": [question]}


@autochron.boundary
def step(state, by, *rest):
    state["steps"].append(by)
    return rest[0] if rest else state


class Shop:
    sold = 0

    @autochron.boundary
    def open(self):
        return self


@pytest.fixture
def block(tmp_path):
    """Return `record` and `replay` for a project in the test's own folder, where its candidates are."""
    file = tmp_path / "autochron.toml"
    file.write_text("version = 1\npacks = []\n", encoding="utf-8")
    return Block(str(file))


@pytest.fixture(autouse=True)
def clear_calls():
    ran.clear()


def in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    thread.join()


def divergences_of(replaying, kind):
    return [
        (divergence.severity, divergence.address)
        for divergence in replaying.divergences
        if divergence.kind == kind
    ]


# --- live crossings and their consequences


def test_a_crossing_missing_before_a_live_call_in_a_new_thread_is_an_error(block):
    def recorded():
        in_thread(look_up, 1)
        ask("what")
        refund(1)

    def with_another_thread():
        ask("what")
        refund(1)
        in_thread(refund, 2)

    _, trace = block.record(recorded)
    replaying = autochron.replay(trace, rules=block.rules, live="refund")
    with pytest.raises(DivergenceError, match=r"look_up\[1\] .* did not happen"), replaying:
        with_another_thread()
    assert divergences_of(replaying, "missing") == [("error", "look_up[1]")]
    assert divergences_of(replaying, "extra") == [("consequence", "refund[2]")]


def test_a_crossing_missing_after_a_live_call_in_a_new_thread_is_a_consequence(block):
    def recorded():
        ask("what")
        refund(1)
        look_up(1)

    def with_another_thread():
        ask("what")
        in_thread(refund, 2)
        refund(1)

    _, trace = block.record(recorded)
    with autochron.replay(trace, rules=block.rules, live="refund") as replaying:
        with_another_thread()
    assert divergences_of(replaying, "missing") == [("consequence", "look_up[1]")]


# --- how a block ends


def agent(*questions, error=None):
    for question in questions:
        ask(question)
    refund(1)
    if error is not None:
        raise error


def test_a_block_that_ends_by_system_exit_is_verified(block):
    _, trace = block.record(lambda: agent("a", "b"))
    with (
        pytest.raises(DivergenceError, match="ask"),
        autochron.replay(trace, rules=block.rules, live="refund"),
    ):
        agent("b", error=SystemExit(0))
    with pytest.raises(SystemExit), autochron.replay(trace, rules=block.rules, live="refund"):
        agent("a", "b", error=SystemExit(0))


def test_a_block_that_raises_as_recorded_is_verified(block):
    with pytest.raises(LookupError), autochron.record(store="memory:", rules=block.rules) as recording:
        agent("a", "b", error=LookupError("none"))
    with (
        pytest.raises(DivergenceError, match="ask"),
        autochron.replay(recording.trace(), rules=block.rules, live="refund"),
    ):
        agent("b", error=LookupError("none"))
    with pytest.raises(LookupError), autochron.replay(recording.trace(), rules=block.rules, live="refund"):
        agent("a", "b", error=LookupError("none"))


def test_another_error_of_a_block_gets_a_note_about_the_divergence(block):
    _, trace = block.record(lambda: agent("a", "b"))
    with (
        pytest.raises(ZeroDivisionError) as raised,
        autochron.replay(trace, rules=block.rules, live="refund", inputs="strict"),
    ):
        agent("x", "b", error=ZeroDivisionError())
    (note,) = raised.value.__notes__
    assert note.startswith("autochron: replay and record disagree: ask[1] was given another input")
    with (
        pytest.raises(ZeroDivisionError) as raised,
        autochron.replay(trace, rules=block.rules, live="refund"),
    ):
        agent("a", "b", error=ZeroDivisionError())
    assert not hasattr(raised.value, "__notes__")


def test_a_replay_may_be_started_again_and_is_verified_each_time(block):
    _, trace = block.record(lambda: agent("a"))
    replaying = autochron.replay(trace, rules=block.rules, live="refund")
    with replaying:
        agent("a")
    with pytest.raises(DivergenceError), replaying:
        ask("a")
    with replaying:
        agent("a")
    assert replaying.sequence() == ["ask[1]", "refund[1]"]
    ran.clear()
    ask("outside")
    assert ran == [("ask", "outside")]


# --- plans


@pytest.mark.parametrize("answer", [None, False, 0, ""])
def test_a_live_function_that_chooses_no_crossing_is_refused(block, answer):
    _, trace = block.record(lambda: agent("a"))
    with (
        pytest.raises(PlanError, match="true of no crossing"),
        autochron.replay(trace, rules=block.rules, live=lambda _: answer),
    ):
        pass


@pytest.mark.parametrize(
    "wrong",
    [
        {"live": None},
        {"live": 5},
        {"live": b"ask"},
        {"deny": None},
        {"deny": 5},
        {"swap": ["ab"]},
        {"swap": "a:b=c:d"},
        {"swap": {5: refund}},
        {"swap": {"shop:refund": None}},
        {"swap": {"shop:refund": 5}},
        {"swap": [("shop:refund", "shop:one"), ("shop:refund", "shop:other")]},
    ],
)
def test_an_invalid_plan_raises_a_plan_error(block, wrong):
    _, trace = block.record(lambda: agent("a"))
    with pytest.raises(PlanError), autochron.replay(trace, rules=block.rules, **wrong):
        pass


@pytest.mark.parametrize("wrong", [None, 5, 1.5])
def test_a_value_that_is_no_trace_raises_a_usage_error(block, wrong):
    with pytest.raises(UsageError, match="give a trace"), autochron.replay(wrong, rules=block.rules):
        pass


def test_a_temporary_folder_that_does_not_exist_is_an_error_with_its_remedy(block, tmp_path, monkeypatch):
    with autochron.record(store=f"sqlite:///{tmp_path}/traces.db", rules=block.rules) as recording:
        agent("a")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    with (
        pytest.raises(StoreError, match="set TMPDIR"),
        autochron.replay(recording.trace(), rules=block.rules),
    ):
        pass


# --- results


def test_the_result_of_a_returned_argument_is_its_state_at_the_return(block):
    def run():
        state = {"steps": []}
        step(step(state, 1), 2)
        step(state, 3, "kept")
        Shop().open()

    _, trace = block.record(run)
    with autochron.replay(trace, rules=block.rules) as replaying:
        run()
    assert [replaying[f"step[{nth}]"].result for nth in (1, 2, 3)] == [
        {"steps": [1]},
        {"steps": [1, 2]},
        "kept",
    ]
    with pytest.raises(CodecError, match="returned its argument self"):
        _ = replaying["open"].result


def test_the_result_of_a_live_model_is_its_state_at_the_return(block):
    def run():
        ask("a")["words"].append("later")

    _, trace = block.record(run)
    with autochron.replay(trace, rules=block.rules, live="ask") as replaying:
        run()
    assert replaying["ask"].result == {"words": ["a"]}


def test_a_live_crossing_that_has_not_ended_has_no_result(block):
    modes, under_way = [], []

    @autochron.boundary
    def asks():
        for replaying in under_way:
            with pytest.raises(CodecError, match="has not ended"):
                _ = replaying["asks"].result
            modes.append(replaying["asks"].live)
        return "recorded"

    _, trace = block.record(asks)
    with autochron.replay(trace, rules=block.rules, live="asks") as replaying:
        under_way.append(replaying)
        asks()
    assert modes == [True]
    assert replaying["asks"].result == "recorded"


@pytest.mark.sdks
def test_the_items_of_a_streamed_model_are_the_events_that_it_sent(tmp_path, monkeypatch):
    file = tmp_path / "autochron.toml"
    file.write_text('version = 1\npacks = ["openai"]\n', encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("NO_PROXY", "*")

    def run():
        client = openai.OpenAI(base_url=model.url)
        messages = [{"role": "user", "content": "Where is my mug?"}]
        stream = client.chat.completions.create(model="gpt-4.1-mini", messages=messages, stream=True)
        return [choice.delta.content or "" for chunk in stream for choice in chunk.choices]

    with provider.serve() as model:
        texts, trace = Block(str(file)).record(run)
        with autochron.replay(trace, rules=str(file)) as replaying:
            run()
    events = [event for event in replaying["model"].items if isinstance(event, dict)]
    assert [choice["delta"].get("content") or "" for event in events for choice in event["choices"]] == texts


def test_an_unknown_kind_is_refused(block):
    _, trace = block.record(lambda: agent("a"))
    with autochron.replay(trace, rules=block.rules) as replaying:
        agent("a")
    assert not replaying.only(kind="router")
    with pytest.raises(UsageError, match="a kind is one of"):
        replaying.only(kind="tools")


# --- swapping

SHOP = """
ran = []
def refund(order, cents, *, note="", limit=5):
    ran.append(order)
    return [order, cents, note]
def look_up(order):
    return {"order": order}
def main(**given):
    try:
        refund(1, **given)
    except Exception as error:
        print(type(error).__name__)
    return look_up(1)
"""
CANDIDATES = {
    "def refund(cents, order, limit, note): return [order, cents, note]": [1, 7, "n"],
    "def refund(order, cents, limit, note): return [order, cents, note]": [1, 7, "n"],
    "def refund(number, sum_, *, note, limit): return [number, sum_, note]": [1, 7, "n"],
    "def refund(order, /, cents, **more): return [order, cents, more['note']]": [1, 7, "n"],
    "def refund(**more): return [more['order'], more['cents'], more['note']]": [1, 7, "n"],
}


@pytest.fixture
def shop(block, tmp_path, monkeypatch):
    """Yield a fresh module of a shop, and rules for it."""
    name = f"shop_{random.randrange(10**9)}"
    (tmp_path / f"{name}.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "autochron.toml").write_text(
        f'version = 1\npacks = []\n[[boundary]]\nname = "{{__name__}}"\nkind = "tool"\ndefine = "{name}:*"\n'
        'exclude = ["main"]\n',
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(name)
    del sys.modules[name]


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_a_candidate_gets_each_argument_by_its_name(block, shop, candidate):
    def run():
        return shop.main(cents=7, note="n")

    _, trace = block.record(run)
    names = {}
    exec(candidate, names)
    swap = {f"{shop.__name__}:refund": names["refund"]}
    with autochron.replay(trace, rules=block.rules, live="refund", swap=swap) as replaying:
        run()
    assert replaying["refund"].result == CANDIDATES[candidate]


BROKEN = {
    "def refund(order): return order": "can't be called as the old one was",
    "def refund(order, cents, note, limit, reason): return order": "missing a required argument",
    "raise RuntimeError('not today')": "RuntimeError: not today",
    "refund = 5": "is not callable",
    "def other(): pass": "has no refund",
}


@pytest.mark.parametrize("candidate", BROKEN)
def test_a_candidate_that_cannot_be_called_is_an_error_although_the_agent_catches_it(
    block, shop, tmp_path, candidate
):
    _, trace = block.record(lambda: shop.main(cents=7))
    new = f"fixed_{random.randrange(10**9)}"
    (tmp_path / f"{new}.py").write_text(candidate, encoding="utf-8")
    replaying = autochron.replay(
        trace, rules=block.rules, live="refund", swap={f"{shop.__name__}:refund": f"{new}.py:refund"}
    )
    with pytest.raises(DivergenceError, match=BROKEN[candidate]), replaying:
        shop.main(cents=7)
    # The failed crossing was closed, so the next one is not inside it. The old function did not run.
    assert replaying["look_up"].replayed.envelope.parent is None
    assert not divergences_of(replaying, "extra")
    assert shop.ran == [1]
    if candidate.startswith("raise"):
        assert new not in sys.modules


def test_a_candidate_in_the_file_of_a_package_imports_from_the_package(block, shop, tmp_path):
    package = f"package_{random.randrange(10**9)}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("LIMIT = 3\n", encoding="utf-8")
    (tmp_path / package / "fixed.py").write_text(
        "from . import LIMIT\n\ndef refund(order, cents, *, note, limit):\n    return min(cents, LIMIT)\n",
        encoding="utf-8",
    )
    _, trace = block.record(lambda: shop.main(cents=7))
    swap = {f"{shop.__name__}:refund": f"{package}/fixed.py:refund"}
    with autochron.replay(trace, rules=block.rules, live="refund", swap=swap) as replaying:
        shop.main(cents=7)
    assert replaying["refund"].result == 3


# --- another process

PROGRAM = """
def refund(order):
    print("refunding", order)
    return order

if __name__ == "__main__":
    refund(1)
"""


@pytest.mark.slow
def test_nothing_runs_for_real_after_a_replay_in_another_process(tmp_path, monkeypatch):
    name = f"program_{random.randrange(10**9)}"
    folder = write(tmp_path, PROGRAM, "refund", name=name)
    assert Fresh().run(folder, "run", f"{name}.py").status == 0
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    with autochron.replay("last") as replaying:
        assert replaying.run().status == 0
        program = importlib.import_module(name)
        with pytest.raises(UsageError, match=r"after replay\.run\(\)"):
            program.refund(2)
        assert replaying.run().status == 0
    assert replaying.sequence() == ["refund[1]"]
    assert program.refund(3) == 3


PARENT = """
import subprocess, sys
print(subprocess.run([sys.executable, "child.py"], capture_output=True, text=True).stdout)
"""


@pytest.mark.slow
def test_a_swap_holds_in_the_processes_that_the_program_starts(tmp_path):
    folder = write(
        tmp_path, "def refund(order):\n    print('for real')\n    return order\n", "refund", name="shop"
    )
    (folder / "agent.py").write_text(PARENT, encoding="utf-8")
    (folder / "child.py").write_text("import shop\nprint(shop.refund(1))\n", encoding="utf-8")
    (folder / "fixed.py").write_text("def refund(order):\n    return -order\n", encoding="utf-8")
    fresh = Fresh()
    assert fresh.run(folder, "run", "agent.py").status == 0
    replayed = fresh.run(folder, "replay", "last", "--live", "refund", "--swap", "shop:refund=fixed:refund")
    assert replayed.stdout.split() == [b"-1"], replayed.stderr
    assert replayed.status == 0, replayed.stderr
    replayed = fresh.run(folder, "replay", "last", "--live", "refund", "--swap", "shop:refund=fixed:other")
    assert b"for real" not in replayed.stdout
    assert replayed.status == 1
    assert "fixed has no other" in replayed.stderr
