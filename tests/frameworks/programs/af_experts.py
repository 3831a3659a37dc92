"""An agent of the Microsoft Agent Framework that asks another agent as a tool."""

import asyncio
from typing import Annotated

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from footprint import footprint


def get_weather(location: Annotated[str, "The place"]) -> str:
    """Return the weather of a place."""
    footprint("get_weather")
    return f"It rains in {location}."


async def main():
    client = OpenAIChatCompletionClient(model="gpt-4o")
    weather_agent = Agent(
        client=client,
        name="WeatherAgent",
        description="Knows the weather.",
        instructions="You know the weather.",
        tools=get_weather,
    )
    agent = Agent(
        client=client,
        instructions="You answer in French.",
        tools=weather_agent.as_tool(name="ask_weather", arg_name="query"),
    )
    print(await agent.run("What is the weather like in Amsterdam?"))


asyncio.run(main())
