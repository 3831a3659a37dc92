"""The same agent, tested by hand-written mocks of its client and of its tool."""

import asyncio
from unittest import mock

import agent

SWEEP = {"source": "operating", "payee": "savings", "amount_cents": 8_400_000}
INVOICE = {"source": "operating", "payee": "Kessler GmbH", "amount_cents": 3_150_000}


def asked(identity, order):
    block = mock.Mock(type="tool_use", id=identity, input=order)
    block.name = "transfer"
    return block


def test_transfers_are_made_and_said_to_be():
    client = mock.Mock()
    calls = mock.Mock(content=[asked("toolu_1", SWEEP), asked("toolu_2", INVOICE)])
    said = mock.Mock(content=[mock.Mock(type="text", text="Both are booked.")])
    client.messages.create = mock.AsyncMock(side_effect=[calls, said])
    transfer = mock.AsyncMock(return_value={"status": "booked"})
    with mock.patch.dict(agent.TOOLS, transfer=transfer):
        assert asyncio.run(agent.answer(client, agent.MESSAGE)) == "Both are booked."
    assert transfer.await_args_list == [mock.call(**SWEEP), mock.call(**INVOICE)]
