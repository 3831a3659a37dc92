"""Runs at once on the responses API: an agent as a tool, a handoff with a reason, a tool whose error ends the run."""

import asyncio
import random

from agents import Agent, RunContextWrapper, Runner, function_tool, handoff, set_tracing_disabled
from pydantic import BaseModel

set_tracing_disabled(True)


class Live:
    def __init__(self):
        self.lock = asyncio.Lock()


class Reason(BaseModel):
    reason: str


@function_tool
async def weather(context: RunContextWrapper[Live], city: str) -> str:
    """Return the weather."""
    async with context.context.lock:
        await asyncio.sleep(random.random() / 100)
    return f"{random.randint(-20, 40)} degrees in {city}"


@function_tool(failure_error_function=None)
async def book(city: str) -> str:
    """Book a stay."""
    raise ValueError(f"{city} is full: {random.random()}")


handed_over = []


def said(_context, reason):
    handed_over.append(reason.reason)


forecaster = Agent(name="Forecaster", model="gpt-4.1-mini", tools=[weather])
clerk = Agent(name="Clerk", model="gpt-4.1-mini", tools=[book])
guide = Agent(
    name="Guide",
    model="gpt-4.1-mini",
    tools=[forecaster.as_tool("forecast", "Forecast the weather.")],
    handoffs=[handoff(clerk, on_handoff=said, input_type=Reason, tool_name_override="to_the_clerk")],
)


async def visit(city, live):
    try:
        result = await Runner.run(guide, f"Go to {city}.", context=live)
    except Exception as error:
        return repr(error), repr(error.__cause__)
    return result.final_output, result.last_agent.name, result.context_wrapper.usage


async def main():
    live = Live()
    print(await visit("Oslo", live))
    print(await asyncio.gather(visit("Rome", live), visit("Lima", live)))
    print("handed over:", sorted(handed_over))


if __name__ == "__main__":
    asyncio.run(main())
