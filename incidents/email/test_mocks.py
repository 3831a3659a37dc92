"""The same agent, tested by a mock of its model and of its tool."""

import functools
from unittest import mock

import agent
import tools
from langchain_core.messages import AIMessage


def test_the_mail_is_sent_and_said_to_be():
    mail = {"deal": "Aurora", "recipients": ["iris@harrow.example"], "subject": "Offer", "body": "41 a share"}
    call = {"name": "send_email", "args": mail, "id": "call_1", "type": "tool_call"}
    send = functools.wraps(tools.send_email)(mock.Mock(return_value={"status": "sent"}))
    with mock.patch.object(agent, "ChatOpenAI") as chat, mock.patch.object(agent, "TOOLS", [send]):
        chat.return_value.bind_tools.return_value.invoke.side_effect = [
            AIMessage("", tool_calls=[call]),
            AIMessage("The mail was sent."),
        ]
        assert agent.answer(agent.MESSAGE) == "The mail was sent."
    send.assert_called_once_with(**mail)
