"""The agent with its real tools and the fix; the client is mocked by hand, and says what the model said in the incident."""

import asyncio
import copy
import inspect
from unittest import mock

import agent
import guarded
import pytest
import tools
from anthropic import AsyncAnthropic
from anthropic.types import Message, TextBlock, ToolUseBlock, Usage

HELD = 8_400_000
SWEEP = {"source": "operating", "payee": "savings", "amount_cents": 8_400_000}
INVOICE = {"source": "operating", "payee": "Kessler GmbH", "amount_cents": 3_150_000}
REST = {"source": "operating", "payee": "savings", "amount_cents": 5_250_000}


@pytest.fixture(autouse=True)
def bank():
    """Begin with no booking and with the balances of the incident, and put back afterwards what there was."""
    accounts, booked = copy.deepcopy(tools.ACCOUNTS), list(tools.booked)
    tools.ACCOUNTS["operating"]["balance_cents"] = HELD
    tools.booked.clear()
    yield
    tools.booked[:] = booked
    for name, account in accounts.items():
        tools.ACCOUNTS[name].update(account)


@pytest.fixture
def asked(monkeypatch):
    """Put the guarded tool into the agent; list what the tool is asked for."""
    calls = []

    async def transfer(**order):
        calls.append(order)
        result = guarded.transfer(**order)
        return await result if inspect.isawaitable(result) else result

    monkeypatch.setitem(agent.TOOLS, "transfer", transfer)
    return calls


def call(identity, name, **arguments):
    return ToolUseBlock(id=identity, name=name, input=arguments, type="tool_use")


def reply(words, *calls):
    return Message(
        id="msg_1",
        content=[TextBlock(text=words, type="text"), *calls],
        model=agent.MODEL,
        role="assistant",
        stop_reason="tool_use" if calls else "end_turn",
        type="message",
        usage=Usage(input_tokens=1, output_tokens=1),
    )


def client_that_says(*replies):
    client = mock.Mock(spec=AsyncAnthropic)
    client.messages.create = mock.AsyncMock(side_effect=replies)
    return client


def told(client):
    """Return what the model was told of each call, by the call's id."""
    messages = client.messages.create.await_args.kwargs["messages"]
    blocks = [block for message in messages if message["role"] == "user" for block in message["content"]]
    return {block["tool_use_id"]: block["content"] for block in blocks if isinstance(block, dict)}


async def to_the_end(run):
    """Let finish what the agent has begun, also where a refusal ends the run; give the answer if there is one."""
    try:
        return await run
    except Exception:
        begun = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*begun, return_exceptions=True)
        return None


def paid():
    return [{name: each[name] for name in SWEEP} for each in tools.booked]


def test_a_sweep_and_an_invoice_at_once_do_not_overdraw_the_account(asked):
    client = client_that_says(
        reply("I will look at the account first.", call("toolu_1", "balance_of", account="operating")),
        reply(
            "The account covers it; both go out at once.",
            call("toolu_2", "transfer", **SWEEP),
            call("toolu_3", "transfer", **INVOICE),
        ),
        reply("The sweep was booked; Kessler's invoice could not be paid."),
    )

    said = asyncio.run(to_the_end(agent.answer(client, agent.MESSAGE)))

    assert asked == [SWEEP, INVOICE]
    assert paid() == [SWEEP]
    assert tools.ACCOUNTS["operating"]["balance_cents"] == 0
    assert '"booked"' not in told(client).get("toolu_3", "")
    assert said in (None, "The sweep was booked; Kessler's invoice could not be paid.")


def test_an_invoice_and_the_sweep_of_the_rest_both_go_out_at_once(asked):
    client = client_that_says(
        reply("I will look at the account first.", call("toolu_1", "balance_of", account="operating")),
        reply(
            "The account covers it; both go out at once.",
            call("toolu_2", "transfer", **INVOICE),
            call("toolu_3", "transfer", **REST),
        ),
        reply("Done: Kessler is paid and the rest is in savings."),
    )

    said = asyncio.run(agent.answer(client, agent.MESSAGE))

    assert asked == [INVOICE, REST]
    assert paid() == [INVOICE, REST]
    assert tools.ACCOUNTS["operating"]["balance_cents"] == 0
    assert '"booked"' in told(client)["toolu_2"]
    assert '"booked"' in told(client)["toolu_3"]
    assert said == "Done: Kessler is paid and the rest is in savings."
