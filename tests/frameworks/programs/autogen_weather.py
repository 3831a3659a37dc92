"""An agent of AutoGen's AgentChat that reflects on what its tools return, and streams."""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent, TextMessage, ToolCallSummaryMessage
from autogen_core.tools import FunctionTool
from autogen_ext.models.openai import OpenAIChatCompletionClient
from footprint import footprint


async def get_weather(city: str) -> str:
    """Return the weather of a city."""
    footprint("get_weather")
    return f"The weather in {city} is 73 degrees and sunny."


def fetch_price(ticker: str) -> dict:
    footprint("stock_price")
    return {"ticker": ticker, "dollars": 101.5}


async def main():
    model = OpenAIChatCompletionClient(model="gpt-4o")
    price = FunctionTool(fetch_price, name="stock_price", description="Return the price of a share.")
    agent = AssistantAgent(
        name="assistant",
        model_client=model,
        tools=[get_weather, price],
        system_message="You are helpful.",
        reflect_on_tool_use=True,
        model_client_stream=True,
    )
    async for message in agent.run_stream(task="How are the weather in New York and the price of ACME?"):
        if isinstance(message, ModelClientStreamingChunkEvent):
            print(message.content, end="|", flush=True)
        elif isinstance(message, (TextMessage, ToolCallSummaryMessage)):
            print(f"\n[{message.source}] {message.content}")
    await model.close()


asyncio.run(main())
