"""An agent of AG2 that reckons with dates. A second question goes on with the conversation."""

import asyncio
from datetime import date

from ag2 import Agent, tool
from ag2.config import OpenAIConfig
from footprint import footprint


@tool
async def get_weekday(date_string: str) -> str:
    """Return the weekday of a date that is written as YYYY-MM-DD."""
    footprint("get_weekday")
    return date.fromisoformat(date_string).strftime("%A")


@tool
def days_between(start: str, end: str) -> int:
    """Count the days between two dates."""
    footprint("days_between")
    return (date.fromisoformat(end) - date.fromisoformat(start)).days


date_agent = Agent(
    "date_agent",
    prompt="You reckon with dates.",
    config=OpenAIConfig(model="gpt-4o-mini"),
    tools=[get_weekday, days_between],
)


async def main():
    reply = await date_agent.ask(
        "I was born on 1995-03-25. What day was it, and how many days until 2026-05-04?"
    )
    print(reply.body)
    again = await reply.ask("And which weekday is 2026-05-04?")
    print(again.body)


asyncio.run(main())
