"""Agents of agno: functions as tools, one of them async, and an answer that is printed as it comes."""

import asyncio
import json

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.tools import tool
from footprint import footprint


def get_weather(city: str) -> str:
    """Get the weather of a city.

    Args:
        city: The name of the city.
    """
    footprint("get_weather")
    return f"The weather in {city} is sunny, 22 degrees."


@tool(name="list_events")
async def events_of(city: str, limit: int = 3) -> str:
    """List what goes on in a city.

    Args:
        city (str): The name of the city.
        limit (int): How many events to list.
    """
    footprint("list_events")
    await asyncio.sleep(0)
    events = ["fado night", "tram tour", "book fair"]
    return json.dumps({"city": city, "events": events[:limit]})


forecaster = Agent(model=OpenAIChat(id="gpt-4.1-mini"), tools=[get_weather], markdown=True)
guide = Agent(
    model=OpenAIChat(id="gpt-4.1-mini"),
    tools=[get_weather, events_of],
    instructions="Use the tools, and answer in one sentence.",
    markdown=True,
)


async def plan() -> None:
    async for event in guide.arun("What can I do in Lisbon today?", stream=True):
        if event.event == "RunContent":
            print(event.content, end="", flush=True)
    print()


response = forecaster.run("Is it warm in Lisbon?")
print(response.content)
print([execution.tool_name for execution in response.tools])
asyncio.run(plan())
