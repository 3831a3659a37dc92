"""A team of agno: its leader has a toolkit of agno's own, and asks a member that looks up the weather."""

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.team import Team
from agno.tools.calculator import CalculatorTools
from footprint import footprint


def get_weather(city: str) -> str:
    """Get the weather of a city."""
    footprint("get_weather")
    return f"The weather in {city} is sunny, 22 degrees."


weather = Agent(
    name="Weather Agent",
    id="weather-agent",
    role="Looks up the weather",
    model=OpenAIChat(id="gpt-4.1-mini"),
    tools=[get_weather],
)
team = Team(
    name="Guides",
    model=OpenAIChat(id="gpt-4.1-mini"),
    members=[weather],
    tools=[CalculatorTools()],
    markdown=True,
)
print(team.run("How warm is Lisbon, in Fahrenheit?").content)
