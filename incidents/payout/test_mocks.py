"""The same agent, tested by hand-written mocks of its client and of its tools."""

import json
from unittest import mock

import agent


def asked(name, **arguments):
    call = mock.Mock(type="function_call", call_id="call_1", arguments=json.dumps(arguments))
    call.name = name
    return mock.Mock(output_text="", output=[call])


def test_the_invoice_is_read_and_paid():
    invoice = {"number": "KP-2041", "vendor": "Kestrel Paper", "account": "DE02120300000000202051"}
    order = {"number": "KP-2041", "account": "DE02120300000000202051"}
    client = mock.Mock()
    client.responses.create.side_effect = [
        asked("read_invoice", number="KP-2041"),
        asked("pay_invoice", **order),
        mock.Mock(output_text="It was paid.", output=[]),
    ]
    read = mock.Mock(return_value=invoice)
    pay = mock.Mock(return_value={"status": "paid", "reference": "PAY-0001"})
    with mock.patch.dict(agent.TOOLS, read_invoice=read, pay_invoice=pay):
        assert agent.answer(client, agent.MESSAGE) == "It was paid."
    pay.assert_called_once_with(**order)
