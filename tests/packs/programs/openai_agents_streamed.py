"""A stream of events through a handoff."""

import asyncio
import random

from agents import Agent, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)


@function_tool
def roll(sides: int) -> int:
    """Roll a die."""
    return random.randint(1, sides)


player = Agent(name="Player", model="gpt-4.1-mini", tools=[roll])
host = Agent(name="Host", model="gpt-4.1-mini", handoffs=[player])


async def main():
    result = Runner.run_streamed(host, "Play.")
    async for event in result.stream_events():
        print(event.type, getattr(event, "name", ""), getattr(getattr(event, "data", None), "type", ""))
    print(result.final_output, result.last_agent.name)


if __name__ == "__main__":
    asyncio.run(main())
