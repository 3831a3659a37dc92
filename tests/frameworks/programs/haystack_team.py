"""An agent of Haystack that asks another one, and that has a component of Haystack's own as a tool."""

from footprint import footprint
from haystack.components.agents import Agent
from haystack.components.builders import PromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import AgentTool, ComponentTool, tool


@tool
def get_weather(city: str) -> str:
    """Report the weather of a city."""
    footprint("get_weather")
    return f"{city} is cloudless."


forecaster = Agent(chat_generator=OpenAIChatGenerator(model="gpt-4.1-mini"), tools=[get_weather])
letters = ComponentTool(
    component=PromptBuilder(template="Dear {{ name }}, {{ text }}", required_variables=["name", "text"]),
    name="write_letter",
    description="Write a letter.",
)
agent = Agent(
    chat_generator=OpenAIChatGenerator(model="gpt-4.1-mini"),
    tools=[AgentTool(agent=forecaster, name="ask_forecaster", description="Ask for the weather."), letters],
)
result = agent.run(messages=[ChatMessage.from_user("Write to Ada how Rome is.")])
print(result["last_message"].text)
