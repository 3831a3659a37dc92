"""A team of agents of the Agent Development Kit: the first one hands greetings over, and has another one as a tool.

It streams, and its tools share a state.
"""

import asyncio

from footprint import footprint
from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.adk.tools.agent_tool import AgentTool
from google.genai import types


def say_hello(name: str = "there") -> str:
    """Greet someone.

    Args:
        name: who is greeted.
    """
    footprint("say_hello")
    return f"Hello, {name}! Nice to meet you."


def get_weather(city: str, tool_context: ToolContext) -> dict:
    """Return the weather of a city in the unit that the user prefers.

    Args:
        city: the name of the city.
    """
    footprint("get_weather")
    unit = tool_context.state.get("unit", "Celsius")
    tool_context.state["last_city"] = city
    degrees = 25 if unit == "Celsius" else 77
    return {"status": "success", "report": f"{city} is sunny with {degrees} degrees {unit}."}


greeter = Agent(
    name="greeting_agent",
    model="gemini-2.5-flash",
    description="Handles greetings.",
    instruction="Greet the user with the tool say_hello, and do nothing else.",
    tools=[say_hello],
)

namer = Agent(
    name="namer",
    model="gemini-2.5-flash",
    description="Knows old names of cities.",
    instruction="Answer with the old name of the city.",
)

root_agent = Agent(
    name="weather_agent",
    model="gemini-2.5-flash",
    description="Answers questions about the weather and hands greetings over.",
    instruction="Answer questions about the weather with get_weather. Hand greetings over by transfer_to_agent.",
    tools=[get_weather, AgentTool(agent=namer)],
    sub_agents=[greeter],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="team")
    session = await runner.session_service.create_session(
        app_name="team", user_id="u", state={"unit": "Fahrenheit"}
    )
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    for question in ("How is the weather in Oslo and in Rome?", "What was Oslo called?", "Please greet Ada."):
        message = types.Content(role="user", parts=[types.Part(text=question)])
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=message, run_config=config
        ):
            if event.is_final_response() and event.content and event.content.parts:
                print(f"[{event.author}] {event.content.parts[0].text}")
    session = await runner.session_service.get_session(app_name="team", user_id="u", session_id=session.id)
    print("last city:", session.state.get("last_city"))


asyncio.run(main())
