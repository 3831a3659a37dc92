"""A team of AutoGen's AgentChat: the travel agent hands over to the refunder, which has the tool."""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.messages import HandoffMessage, TextMessage, ToolCallSummaryMessage
from autogen_agentchat.teams import Swarm
from autogen_ext.models.openai import OpenAIChatCompletionClient
from footprint import footprint


def refund_flight(flight_id: str) -> str:
    """Pay a flight back."""
    footprint("refund_flight")
    return f"Flight {flight_id} refunded"


async def main():
    model = OpenAIChatCompletionClient(model="gpt-4o", parallel_tool_calls=False)
    travel_agent = AssistantAgent(
        "travel_agent",
        model_client=model,
        handoffs=["flights_refunder"],
        system_message="You are a travel agent. Refunds: transfer_to_flights_refunder.",
    )
    flights_refunder = AssistantAgent(
        "flights_refunder",
        model_client=model,
        handoffs=["travel_agent"],
        tools=[refund_flight],
        system_message="You pay flights back with refund_flight. End with TERMINATE.",
    )
    team = Swarm(
        [travel_agent, flights_refunder],
        termination_condition=TextMentionTermination("TERMINATE") | MaxMessageTermination(20),
    )
    result = await team.run(task="I need a refund for flight 507811.")
    for message in result.messages:
        if isinstance(message, (TextMessage, HandoffMessage, ToolCallSummaryMessage)):
            print(f"[{message.source}] {message.content}")
    print(result.stop_reason)
    await model.close()


asyncio.run(main())
