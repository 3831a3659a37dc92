"""An agent of Semantic Kernel with a plugin of a restaurant's menu. It streams, and its thread keeps the conversation."""

import asyncio
from typing import Annotated

from footprint import footprint
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function


class MenuPlugin:
    @kernel_function(description="List the specials of the menu.")
    def get_specials(self) -> Annotated[str, "The specials"]:
        footprint("MenuPlugin-get_specials")
        return "Soup: Clam Chowder\nSalad: Cobb Salad\nDrink: Chai Tea"

    @kernel_function(description="Tell the price of an item.")
    def get_item_price(
        self, menu_item: Annotated[str, "The name of the item"]
    ) -> Annotated[str, "The price"]:
        footprint("MenuPlugin-get_item_price")
        return "$9.99"


async def main():
    agent = ChatCompletionAgent(
        service=OpenAIChatCompletion(ai_model_id="gpt-4o"),
        name="Host",
        instructions="Answer questions about the menu.",
        plugins=[MenuPlugin()],
    )
    thread = ChatHistoryAgentThread()
    for words in ("Hello", "What is the special soup, and what do it and the tea cost?"):
        print(f"# User: {words}")
        async for response in agent.invoke_stream(messages=words, thread=thread):
            print(response.content, end="|", flush=True)
            thread = response.thread
        print()
    print("messages:", len([message async for message in thread.get_messages()]))


asyncio.run(main())
