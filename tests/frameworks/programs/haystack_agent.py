"""Agents of Haystack: tools by decorator and by hand, streamed; and one in a pipeline, with a state."""

from typing import Annotated

from footprint import footprint
from haystack import Pipeline
from haystack.components.agents import Agent, State
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.generators.utils import print_streaming_chunk
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool, create_tool_from_function, tool


@tool
def get_weather(city: Annotated[str, "the city to look up"]) -> dict:
    """Report the weather of a city."""
    footprint("get_weather")
    return {"city": city, "degrees": 22, "sky": "cloudless"}


def multiply(a: float, b: float) -> float:
    footprint("calculator")
    return a * b


calculator = Tool(
    name="calculator",
    description="Multiply two numbers.",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
    function=multiply,
)

agent = Agent(
    chat_generator=OpenAIChatGenerator(model="gpt-4.1-mini"),
    tools=[get_weather, calculator],
    system_prompt="You are a helpful assistant.",
    streaming_callback=print_streaming_chunk,
)
result = agent.run(messages=[ChatMessage.from_user("What is 22 degrees in Berlin in Fahrenheit?")])
print(result["last_message"].text)


def remember(place: str, state: State) -> str:
    """Remember a place for later."""
    footprint("remember")
    state.set("places", [place])
    return f"{place} is noted."


traveller = Agent(
    chat_generator=OpenAIChatGenerator(model="gpt-4.1-mini"),
    tools=[get_weather, create_tool_from_function(remember)],
    state_schema={"places": {"type": list[str]}},
    exit_conditions=["text"],
)
pipeline = Pipeline()
pipeline.add_component("prompt", ChatPromptBuilder([ChatMessage.from_user("Should I go to {{ place }}?")]))
pipeline.add_component("agent", traveller)
pipeline.connect("prompt.prompt", "agent.messages")
answer = pipeline.run({"prompt": {"place": "Paris"}})
print(answer["agent"]["last_message"].text, answer["agent"]["places"])
