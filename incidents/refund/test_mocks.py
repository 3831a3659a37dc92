"""The same agent, tested by hand-written mocks of its client and of its tools."""

import json
from unittest import mock

import agent
import tools


def asked(name, **arguments):
    call = mock.Mock(id="call_1", function=mock.Mock(arguments=json.dumps(arguments)))
    call.function.name = name
    return said(None, [call])


def said(text, calls=None):
    return mock.Mock(choices=[mock.Mock(message=mock.Mock(content=text, tool_calls=calls))])


def test_the_order_is_refunded_and_the_customer_told():
    client = mock.Mock()
    client.chat.completions.create.side_effect = [
        asked("issue_refund", order_id="48213", amount_cents=3990),
        asked("send_reply", order_id="48213", text="Your refund is on its way."),
        said("Done."),
    ]
    refund = mock.Mock(return_value=tools.Refund("48213", 3990, 3990, number=1))
    reply = mock.Mock(return_value={"sent": True, "to": "mara@example.com"})
    with mock.patch.dict(agent.TOOLS, issue_refund=refund, send_reply=reply):
        assert agent.answer(client, agent.MESSAGE) == "Done."
    refund.assert_called_once_with(order_id="48213", amount_cents=3990)
    reply.assert_called_once_with(order_id="48213", text="Your refund is on its way.")
