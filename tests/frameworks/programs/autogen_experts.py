"""An assistant of AutoGen's AgentChat that has two other agents as tools, one of which calls a function."""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.tools import AgentTool
from autogen_ext.models.openai import OpenAIChatCompletionClient
from footprint import footprint


async def lookup_tides(harbour: str) -> dict:
    """Return when the tide is high in a harbour."""
    footprint("lookup_tides")
    return {"harbour": harbour, "high": ["03:12", "15:40"]}


async def main():
    model = OpenAIChatCompletionClient(model="gpt-4o", parallel_tool_calls=False)
    pilot = AssistantAgent(
        "pilot",
        model_client=model,
        tools=[lookup_tides],
        system_message="You know the tides.",
        description="Knows the tides.",
        reflect_on_tool_use=True,
    )
    poet = AssistantAgent("poet", model_client=model, system_message="You rhyme.", description="Rhymes.")
    assistant = AssistantAgent(
        "assistant",
        model_client=model,
        tools=[AgentTool(pilot, return_value_as_last_message=True), AgentTool(poet)],
        system_message="You ask the experts.",
        max_tool_iterations=5,
    )
    result = await assistant.run(task="When is the tide high in Husum? Put it into a verse.")
    for message in result.messages:
        if isinstance(message, TextMessage):
            print(f"[{message.source}] {message.content}")
    await model.close()


asyncio.run(main())
