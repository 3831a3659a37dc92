"""The same agent, tested by hand-written mocks of its client and of its tool."""

from unittest import mock

import agent


def streamed(*blocks):
    """Return a stream that sends each block in one piece, as the SDK does for short ones."""
    stream = mock.MagicMock()
    events = []
    for block in blocks:
        if block.type == "tool_use":
            events.append(mock.Mock(type="input_json", snapshot=block.input))
        events.append(mock.Mock(type="content_block_stop", content_block=block))
    stream.__enter__.return_value = stream
    stream.__iter__.return_value = iter(events)
    stream.current_message_snapshot.content = blocks
    stream.get_final_message.return_value = mock.Mock(content=list(blocks))
    return stream


def test_the_bucket_is_cleaned_up_once_and_said_to_be():
    order = {"bucket": "exports", "keep": ["payroll-2024.csv", "contracts-signed.pdf"]}
    asked = mock.Mock(type="tool_use", id="toolu_1", input=order)
    asked.name = "clean_up"
    said = mock.Mock(type="text", text="The drafts were deleted.")
    client = mock.Mock()
    client.messages.stream.side_effect = [streamed(asked), streamed(said)]
    clean_up = mock.Mock(
        return_value={"bucket": "exports", "deleted": ["draft-1.csv"], "kept": order["keep"]}
    )
    with mock.patch.dict(agent.TOOLS, clean_up=clean_up):
        assert agent.answer(client, agent.MESSAGE) == "The drafts were deleted."
    clean_up.assert_called_once_with(**order)
