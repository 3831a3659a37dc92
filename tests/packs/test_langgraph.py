"""LangGraph under its pack: nodes, conditional edges, `Command(goto)` and tools, in graphs with random routes."""

import pytest

from autochron.provider import Call, Script, Step
from tests.packs.harness import needs, record_and_replay

pytestmark = needs("langgraph", "langchain-openai", "openai")

DESKS = (
    "langgraph_agent.py:45 random.choice",
)  # the router's body runs in each replay, and its choice is served

DESK = Script(
    (
        Step(turn=0, calls=(Call.of("look_up_order", order_id="{number}"),)),
        Step(turn=1, text="{random}", calls=(Call.of("issue_refund", order_id="{number}", cents=5),)),
        Step(text="{random}"),
    )
)
TRIP = Script(
    (
        Step(turn=0, calls=(Call.of("weather", city="{random}"), Call.of("train", city="Berne"))),
        Step(turn=1, calls=(Call.of("hotel", city="{random}", nights=2),)),
        Step(text="{random}"),
    )
)


def test_conditional_edges_and_tools_streamed_and_invoked(tmp_path):
    recorded = record_and_replay("langgraph_agent", tmp_path, DESK, findings=DESKS)
    crossed = [address for address in recorded.addresses() if not address.startswith("node.")]
    run = [
        *("model[{0}]", "next_step[{0}]", "look_up_order[{3}]", "model[{1}]", "next_step[{1}]"),
        *("issue_refund[{3}]", "model[{2}]", "next_step[{2}]", "any_desk[{3}]"),
    ]
    assert crossed == [entry.format(1, 2, 3, 1) for entry in run] + [
        entry.format(4, 5, 6, 2) for entry in run
    ]
    assert recorded.calls == 6
    desk = recorded.output.rpartition("desk: ")[2].strip()
    routes = [entry for entry in recorded.trace.envelopes if entry.name == "any_desk"]
    assert [entry.kind for entry in routes] == ["router", "router"]
    assert routes[-1].outcome.value == f'"{desk}"'.encode()


@pytest.mark.thorough
def test_crossings_in_a_node_are_its_children(tmp_path):
    recorded = record_and_replay("langgraph_agent", tmp_path, DESK, findings=DESKS)
    assert recorded.addresses(below="node.agent[1]") == ["model[1]", "next_step[1]"]
    assert recorded.addresses(below="node.tools[1]") == ["look_up_order[1]"]
    assert recorded.addresses(below="node.desk[1]") == ["any_desk[1]"]
    nodes = [address.removeprefix("node.") for address in recorded.addresses() if address.startswith("node.")]
    walk = ["__start__[1]", "agent[1]", "tools[1]", "agent[2]", "tools[2]", "agent[3]", "desk[1]"]
    assert nodes[:7] == walk
    assert len(nodes) == 16  # two runs of the walk and of the desk that chance chose


@pytest.mark.thorough
def test_commands_sends_and_a_subgraph(tmp_path):
    recorded = record_and_replay(
        "langgraph_goto",
        tmp_path,
        Script(),
        findings=(
            "langgraph_goto.py:29 random.choice",
            "langgraph_goto.py:46 random.choice",
            "langgraph_goto.py:59 random.randrange",
        ),
    )
    assert recorded.addresses("model", "router") == [
        *("model[1]", "goto[1]", "goto[2]", "goto[3]", "spread[1]", "model[2]", "model[3]", "model[4]"),
    ]
    assert recorded.calls == 4
    lines = recorded.output.splitlines()
    by_address = {envelope.address: envelope for envelope in recorded.trace.envelopes}
    assert f'"branch:to:{lines[1]}"'.encode() in by_address["goto[1]"].outcome.value
    assert b"branch:to:audit" in by_address["goto[2]"].outcome.value
    assert f'"goto":"{lines[2].rpartition(" ")[2]}"'.encode() in by_address["goto[3]"].outcome.value
    assert by_address["spread[1]"].outcome.value.count(b"langgraph.types:Send") == 3
    # The three nodes run at the same time.
    reviews = [recorded.addresses(below=f"node.review[{number}]") for number in (1, 2, 3)]
    assert sorted(reviews) == [["model[2]"], ["model[3]"], ["model[4]"]]
    assert recorded.addresses(below="node.pick[1]") == ["goto[3]"]


def test_an_asynchronous_streamed_graph(tmp_path):
    recorded = record_and_replay(
        "langgraph_async", tmp_path, TRIP, findings=("langgraph_async.py:56 random.choice",)
    )
    crossed = [address for address in recorded.addresses() if not address.startswith("node.")]
    assert crossed == [
        *("model[1]", "next_step[1]", "weather[1]", "train[1]", "model[2]", "next_step[2]", "hotel[1]"),
        *("model[3]", "next_step[3]", "goto[1]"),
    ]
    assert recorded.calls == 3
    assert recorded.addresses(below="node.tools[1]") == ["weather[1]", "train[1]"]
    route = "thanks" if "Thanks." in recorded.output else "goodbye"
    assert f"branch:to:{route}".encode() in recorded.trace.envelopes[-2].outcome.value


TILL = Script(
    (
        Step(turn=0, calls=(Call.of("pay", cents=5),)),
        Step(turn=1, calls=(Call.of("note", text="{random}"),)),
        Step(turn=2, calls=(Call.of("count"),)),
        Step(text="{random}"),
    )
)


def test_injected_arguments_and_an_interruption(tmp_path):
    recorded = record_and_replay("langgraph_injected", tmp_path, TILL)
    crossed = [address for address in recorded.addresses() if not address.startswith("node.")]
    assert crossed == [
        *("model[1]", "branch[1]", "pay[1]", "model[2]", "branch[2]", "note[1]"),
        *("model[3]", "branch[3]", "count[1]", "model[4]", "branch[4]"),
    ]
    assert recorded.addresses()[-2:] == ["node.closing[1]", "node.closing[2]"]
    assert "compared by type only: pay" not in recorded.command.stderr
    assert "runtime.config" not in recorded.command.stderr
