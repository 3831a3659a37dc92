"""The same agent, tested by hand-written mocks of its client and of its tool."""

from unittest import mock

import agent


def test_the_invoice_is_sent_and_said_to_be():
    client = mock.Mock()
    order = {"customer": "Nordlicht GmbH", "amount_cents": 200_000_000, "currency": "EUR"}
    asked = mock.Mock(type="tool_use", id="toolu_1", input=order)
    asked.name = "send_invoice"
    said = mock.Mock(type="text", text="The invoice was sent.")
    client.messages.create.side_effect = [mock.Mock(content=[asked]), mock.Mock(content=[said])]
    send = mock.Mock(return_value={"status": "sent", "number": "INV-0001", **order})
    with mock.patch.dict(agent.TOOLS, send_invoice=send):
        assert agent.answer(client, agent.MESSAGE) == "The invoice was sent."
    send.assert_called_once_with(**order)
