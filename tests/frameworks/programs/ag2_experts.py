"""An agent of AG2 that hands tasks to another one, which is its tool `task_pilot`."""

import asyncio

from ag2 import Agent, tool
from ag2.config import OpenAIConfig
from footprint import footprint


@tool(name="get_tide")
async def look_up(harbour: str) -> str:
    """Return when the tide is high in a harbour."""
    footprint("get_tide")
    return f"High at 03:12 in {harbour}"


async def main():
    config = OpenAIConfig(model="gpt-4o-mini")
    pilot = Agent("pilot", prompt="You know the tides.", config=config, tools=[look_up])
    boss = Agent(
        "boss", prompt="Ask the pilot.", config=config, tools=[pilot.as_tool(description="Knows the tides.")]
    )
    reply = await boss.ask("When is the tide high in Husum?")
    print(reply.body)


asyncio.run(main())
