"""What was adopted records and replays by its rules alone, without Chronicle."""

import pytest

from autochron import provider
from autochron.store import open_store
from tests.adopt.workshop import adopted, write
from tests.cli import processes

AGENT = '''\
"""An agent with a mark of each kind."""

import asyncio
import chronicle
from chronicle import boundary as step
from chronicle.envelope.schema import Input, ToolCall


@step("planner", kind="llm", extract_input=lambda state, token: Input(arguments={"q": state["question"]}))
def plan(state, token):
    call = ToolCall(id="1", name="refund", arguments={"order": state["question"]})
    return {"calls": [call.model_dump()]}


def _lookup(order):
    return {"order": order, "total": 5}


lookup = chronicle.boundary("lookup", kind="tool")(_lookup)


class Desk:
    rate = 2

    @step("refund", kind="tool")
    async def refund(self, order):
        return lookup(order)["total"] * self.rate


def dispatch(model, messages):
    return {"completion": f"{model} {messages[-1]}"}


complete = chronicle.wrap_llm("llm", dispatch)


async def main():
    (call,) = plan({"question": "9"}, token="t")["calls"]
    amount = await Desk().refund(call["arguments"]["order"])
    print(complete("small", [f"refunded {amount}"]))


asyncio.run(main())
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = write(
        tmp_path_factory.mktemp("project"),
        {"agent.py": AGENT, "chronicle.py": 'raise ImportError("not installed")'},
    )
    adopted(folder, "agent.py")
    assert (
        processes.autochron(folder, "run", "--quiet", "agent.py").text
        == "{'completion': 'small refunded 10'}\n"
    )
    return folder


def crossings(folder):
    store = open_store(str(folder / ".autochron/traces.db"))
    return [(each.address, each.kind, each.arguments) for each in store.load("last").envelopes]


def test_it_records_what_was_marked(project):
    assert crossings(project) == [
        ("planner[1]", "model", {"state.question": "9"}),
        ("refund[1]", "tool", {"order": "9"}),
        ("lookup[1]", "tool", {"order": "9"}),
        ("llm[1]", "model", {"messages": ["refunded 10"], "model": "small"}),
    ]


def test_it_replays_the_same(project):
    done = processes.autochron(project, "replay", "last")
    assert (done.status, done.text) == (0, "{'completion': 'small refunded 10'}\n"), done.said
    assert "the same: 3 crossings" in done.said


def test_a_live_tool_runs_todays_code(project):
    text = (project / "agent.py").read_text()
    (project / "agent.py").write_text(text.replace("rate = 2", "rate = 3"))
    try:
        done = processes.autochron(
            project, "replay", "last", "--live", "refund", "--live", "llm", "--inputs", "ignore"
        )
    finally:
        (project / "agent.py").write_text(text)
    assert done.text == "{'completion': 'small refunded 15'}\n", done.said


CLIENTS = """\
import anthropic, chronicle, openai

small = chronicle.wrap(openai.OpenAI())
large = chronicle.wrap(anthropic.Anthropic(), name="claude")
messages = [{"role": "user", "content": "hello"}]
print(small.chat.completions.create(model="gpt-5-mini", messages=messages).choices[0].message.content)
print(large.messages.create(model="claude", max_tokens=9, messages=messages).content[0].text)
"""


@pytest.mark.thorough
def test_wrapped_clients_record_under_their_names_and_replay_without_a_provider(tmp_path):
    write(tmp_path, {"agent.py": CLIENTS})
    adopted(tmp_path)
    with provider.serve(seed=1) as model:
        variables = {
            "OPENAI_BASE_URL": model.url,
            "ANTHROPIC_BASE_URL": model.origin,
            "ANTHROPIC_API_KEY": "k",
        }
        recorded = processes.autochron(
            tmp_path, "run", "--quiet", "agent.py", env=processes.environment(**variables)
        )
    assert recorded.status == 0, recorded.said
    store = open_store(str(tmp_path / ".autochron/traces.db"))
    envelopes = store.load("last").envelopes
    assert [(each.name, len(each.exchanges)) for each in envelopes] == [("llm", 1), ("claude", 1)]
    replayed = processes.autochron(tmp_path, "replay", "last", env=processes.environment(**variables))
    assert (replayed.status, replayed.text) == (0, recorded.text), replayed.said
