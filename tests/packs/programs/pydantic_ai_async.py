"""Two conversations at once with an agent whose dependencies hold live objects; its model also errs in what it asks for."""

import asyncio
import random
from datetime import datetime

from pydantic_ai import Agent, RunContext
from pydantic_ai.toolsets import FunctionToolset


class Shop:
    def __init__(self):
        self.lock = asyncio.Lock()
        self.rates = {"Oslo": 1, "Rome": 2}


colleague = Agent("anthropic:claude-sonnet-4-5")
tools = FunctionToolset[Shop]()


@tools.tool
async def price(ctx: RunContext[Shop], city: str, at: datetime) -> tuple[float, datetime]:
    """Return a price."""
    async with ctx.deps.lock:
        await asyncio.sleep(random.random() / 100)
        return random.random() * ctx.deps.rates[city], at


@tools.tool
async def tip(ctx: RunContext[Shop], city: str) -> str:
    """Ask a colleague, on the same bill."""
    result = await colleague.run(f"A tip for {city}?", usage=ctx.usage)
    return result.output


async def book(ctx: RunContext[Shop], city: str) -> dict[str, float]:
    """Book a stay: the answer."""
    return {city: random.random()}


agent = Agent(
    "anthropic:claude-sonnet-4-5",
    deps_type=Shop,
    output_type=book,
    toolsets=[tools.prefixed("shop")],
    retries=2,
)


async def main():
    shop = Shop()
    talks = [agent.run(f"Book a stay in {city}.", deps=shop) for city in ("Oslo", "Rome")]
    for result in await asyncio.gather(*talks):
        print(result.output, result.usage)
        for message in result.all_messages():
            print([(part.part_kind, getattr(part, "content", None)) for part in message.parts])


if __name__ == "__main__":
    asyncio.run(main())
