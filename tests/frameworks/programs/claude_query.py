"""Claude's Agent SDK: questions without a client, one after the other and two at once, with partial messages."""

import asyncio
import os

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ResultMessage,
    StreamEvent,
    TextBlock,
    query,
)


async def ask(prompt, **more):
    options = ClaudeAgentOptions(
        cli_path=os.environ["CLAUDE_CLI"], system_prompt="You are a helpful assistant.", max_turns=3, **more
    )
    parts = []
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, StreamEvent):
            parts.append(message.event["delta"]["text"])
        elif isinstance(message, AssistantMessage):
            parts += [block.text for block in message.content if isinstance(block, TextBlock)]
        elif isinstance(message, ResultMessage):
            parts.append(f"{message.subtype}: {message.result}")
    return parts


async def main():
    print(await ask("What is 2 + 2?"))
    print(await ask("Say a poem.", include_partial_messages=True))
    print(await ask("Read the file notes.txt.", allowed_tools=["Read"]))
    print(await asyncio.gather(ask("Name a river."), ask("Name a mountain.")))


if __name__ == "__main__":
    asyncio.run(main())
