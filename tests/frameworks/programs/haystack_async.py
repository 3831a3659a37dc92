"""Haystack's Agent run in an event loop, with tools that it calls at once and one that is a component."""

import asyncio

from footprint import footprint
from haystack import component
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import ComponentTool, create_tool_from_function


def get_stock(item: str) -> str:
    """Count an item in the store."""
    footprint("get_stock")
    return f"{item}: 17 pieces"


@component
class Prices:
    """Look up what an item costs."""

    @component.output_types(price=str)
    def run(self, item: str) -> dict[str, str]:
        """Look up a price.

        :param item: The name of the item.
        """
        footprint("price_of")
        return {"price": f"{item} is 12.50 euros"}


agent = Agent(
    chat_generator=OpenAIChatGenerator(model="gpt-4.1-mini"),
    tools=[create_tool_from_function(get_stock), ComponentTool(component=Prices(), name="price_of")],
)


async def main() -> None:
    question = "How many lamps and chairs are there, and what does a lamp cost?"
    result = await agent.run_async(messages=[ChatMessage.from_user(question)])
    for message in result["messages"]:
        print(message.role.value, message.text or message.tool_call_result or len(message.tool_calls))


asyncio.run(main())
