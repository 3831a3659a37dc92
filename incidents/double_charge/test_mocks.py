"""The same agent, tested by hand-written mocks of its client and of its tool."""

from unittest import mock

import agent
import tools


def said(text=None, *calls):
    return mock.Mock(choices=[mock.Mock(message=mock.Mock(content=text, tool_calls=list(calls)))])


def asked(identity):
    call = mock.Mock(id=identity)
    call.function.name, call.function.arguments = "charge", '{"order_id": "7731", "amount_cents": 64900}'
    return call


def test_a_charge_that_timed_out_is_tried_again():
    client = mock.Mock()
    client.chat.completions.create.side_effect = [
        said("One moment.", asked("call_1")),
        said("No answer, once more.", asked("call_2")),
        said("The order is paid."),
    ]
    charged = {"status": "charged", "id": "ch_0001", "order_id": "7731", "amount_cents": 64900}
    charge = mock.Mock(side_effect=[tools.GatewayTimeout("no answer within 10 s"), charged])
    with mock.patch.dict(agent.TOOLS, charge=charge):
        assert agent.answer(client, agent.MESSAGE) == "The order is paid."
    assert charge.call_args_list == [mock.call(order_id="7731", amount_cents=64900)] * 2
