"""Streams: of a typed answer, of events, and of text."""

import asyncio
import random

from pydantic import BaseModel
from pydantic_ai import Agent


class Answer(BaseModel):
    text: str
    stars: int


guide = Agent("openai:gpt-4.1-mini", output_type=Answer)
talker = Agent("anthropic:claude-sonnet-4-5")


@guide.tool_plain
@talker.tool_plain
async def visitors(city: str) -> int:
    """Count the visitors of a city."""
    return random.randrange(1000)


async def main():
    async with guide.run_stream("Rate Oslo.") as result:
        async for answer in result.stream_output(debounce_by=None):
            print(answer)
    async with guide.run_stream_events("Rate Rome.") as events:
        async for event in events:
            print(event.event_kind)
    async with talker.run_stream("Tell me of Lima.") as result:
        async for text in result.stream_text(delta=True, debounce_by=None):
            print(text, end="|")
        print(result.usage.tool_calls)


if __name__ == "__main__":
    asyncio.run(main())
