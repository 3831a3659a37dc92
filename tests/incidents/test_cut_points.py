"""One incident, replayed with different crossings live: what the guard does, and how the model goes on."""

import json

import pytest

import autochron
from autochron.errors import ReproducedError
from tests.cli.processes import agreed

pytestmark = pytest.mark.slow

FIX = """
import tools


def issue_refund(order_id, amount_cents):
    if amount_cents > tools.ORDERS[order_id]["paid_cents"]:
        return {"blocked": True, "reason": "more than was paid"}
    return tools.issue_refund(order_id, amount_cents)
"""
BLOCKED = {"blocked": True, "reason": "more than was paid"}
SWAP = ("--swap", "tools.py:issue_refund=fix.py:issue_refund")

CUTS = {
    "the tool": (("issue_refund[1]",), 0, ["issue_refund[1]"]),
    "all tools": (("kind:tool",), 0, ["look_up_order[1]", "issue_refund[1]", "send_reply[1]"]),
    "the tool and the last model": (("issue_refund[1]", "model[4]"), 1, ["issue_refund[1]", "model[4]"]),
    "everything after a point": (
        ("after:model[2]",),
        2,
        ["issue_refund[1]", "model[3]", "send_reply[1]", "model[4]"],
    ),
}
ALL = ["model[1]", "look_up_order[1]", "model[2]", "issue_refund[1]", "model[3]", "send_reply[1]", "model[4]"]


ON_THE_COMMAND_LINE = ("the tool and the last model", "everything after a point")
"""The cuts that each build tries on the command line, too; `--thorough` tries all."""


def cases(in_builds=tuple(CUTS)):
    cuts = [
        pytest.param(*cut, id=name, marks=() if name in in_builds else pytest.mark.thorough)
        for name, cut in CUTS.items()
    ]
    return pytest.mark.parametrize(("live", "calls", "addresses"), cuts)


@cases(ON_THE_COMMAND_LINE)
def test_each_cut_replays_through_the_command_line(live, calls, addresses, project, model):
    (project / "fix.py").write_text(FIX, encoding="utf-8")
    words = [word for item in live for word in ("--live", item)]
    env = {"OPENAI_BASE_URL": model.url}
    replayed = agreed(project, "replay", "refund.jsonl", *words, *SWAP, "--json", env=env)
    summary = json.loads(replayed.said)
    assert replayed.status == 0
    assert (summary["same"], summary["status"], summary["live"], summary["problems"]) == (
        True,
        0,
        addresses,
        [],
    )
    assert {item["severity"] for item in summary["divergences"]} <= {"consequence", "notice"}
    assert model.calls == calls
    assert '    -> {"blocked": true, "reason": "more than was paid"}' in replayed.text
    assert "refunded 48,213.00" not in replayed.text


@pytest.mark.sdks
@cases()
def test_each_cut_replays_through_python(live, calls, addresses, project, model, agent, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr("sys.argv", ["agent.py"])

    def guarded(order_id, amount_cents):
        if amount_cents > agent.tools.ORDERS[order_id]["paid_cents"]:
            return dict(BLOCKED)
        return agent.tools.issue_refund(order_id, amount_cents)

    with autochron.replay("refund.jsonl", live=live, swap={"tools.py:issue_refund": guarded}) as replay:
        agent.main()
    assert replay.sequence() == ALL
    assert [item.address for item in replay.only(live=True)] == addresses
    assert model.calls == calls
    assert replay["issue_refund[1]"].result == BLOCKED
    assert replay["issue_refund[1]"].input == {"order_id": "48213", "amount_cents": 4821300}
    messages = replay["model[4]"].input["body"]["messages"]
    assert [json.loads(item["content"]) for item in messages if item["role"] == "tool"][1] == BLOCKED
    assert agent.tools.refunds == []
    assert [mail[0] for mail in agent.tools.outbox] == (
        ["mara@example.com"] if "send_reply[1]" in addresses else []
    )
    replay.assert_not_reproduced("issue_refund[1]")


@pytest.mark.sdks
def test_without_the_guard_the_live_tool_reproduces_the_incident(project, agent, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr("sys.argv", ["agent.py"])
    with autochron.replay("refund.jsonl", live="issue_refund[1]") as replay:
        agent.main()
    assert replay["issue_refund[1]"].result == agent.tools.Refund("48213", 4821300, 3990, number=1)
    assert agent.tools.refunds == [replay["issue_refund[1]"].result]
    assert [divergence.kind for divergence in replay.divergences] == ["stale-state"]
    with pytest.raises(ReproducedError) as caught:
        replay.assert_not_reproduced("issue_refund[1]")
    headline, argument_line, result_line, remedy_line = str(caught.value).splitlines()
    assert headline == "issue_refund[1] did again what it did in the incident:"
    assert argument_line == '  it was given amount_cents: 4821300, order_id: "48213"'
    assert (
        result_line
        == '  and gave Refund(order_id: "48213", amount_cents: 4821300, paid_cents: 3990, number: 1)'
    )
    place = f"{__file__}:{caught.traceback[0].lineno + 1}"
    assert remedy_line == (
        f"the fix goes into issue_refund, tools.py:36, or into what calls it; then say in {place} what should happen, in the"
        " place of this check (incident-reproduced)"
    )


def test_an_unreachable_live_model_is_reported(project):
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    replayed = agreed(project, "replay", "refund.jsonl", "--live", "model[4]", env=env)
    assert "openai.APIConnectionError: Connection error." in replayed.said
    assert "the program ended with status 1; when it was recorded, with 0" in replayed.said
