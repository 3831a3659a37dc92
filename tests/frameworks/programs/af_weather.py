"""An agent of the Microsoft Agent Framework with two functions as tools, on OpenAI's responses."""

import asyncio
from random import randint
from typing import Annotated

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient
from footprint import footprint
from pydantic import Field


def get_weather(location: Annotated[str, Field(description="The place")]) -> str:
    """Return the weather of a place."""
    footprint("get_weather")
    conditions = ["sunny", "cloudy", "rainy", "stormy"]
    return f"The weather in {location} is {conditions[randint(0, 3)]} with a high of {randint(10, 30)}°C."


async def get_menu_specials() -> str:
    """Return today's specials."""
    footprint("get_menu_specials")
    await asyncio.sleep(0)
    return "Special Soup: Clam Chowder\nSpecial Salad: Cobb Salad\nSpecial Drink: Chai Tea"


async def main():
    agent = Agent(
        client=OpenAIChatClient(model="gpt-4o"),
        instructions="You help with the weather and with restaurants.",
        tools=[get_weather, get_menu_specials],
    )
    response = await agent.run("What's the weather in Amsterdam and in Oslo, and what are today's specials?")
    print(response)


asyncio.run(main())
