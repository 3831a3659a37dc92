"""An agent of the Agent Development Kit that knows the weather and the time of a few cities."""

import asyncio

from footprint import footprint
from google.adk.agents import Agent
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

APP, USER, SESSION = "weather_app", "user_1", "session_1"


def get_weather(city: str) -> dict:
    """Return the current weather report of a city.

    Args:
        city: the name of the city.
    """
    footprint("get_weather")
    reports = {"new york": "Sunny, 25 degrees Celsius.", "london": "Cloudy, 15 degrees Celsius."}
    report = reports.get(city.lower())
    if report is None:
        return {"status": "error", "error_message": f"There is no weather report for {city}."}
    return {"status": "success", "report": f"{city}: {report}"}


async def get_current_time(city: str) -> dict:
    """Return the current time of a city.

    Args:
        city: the name of the city.
    """
    footprint("get_current_time")
    await asyncio.sleep(0)
    return {"status": "success", "report": f"The time in {city} is 2026-05-04 09:30:00 EDT."}


root_agent = Agent(
    name="weather_time_agent",
    model="gemini-2.5-flash",
    description="Answers questions about the time and the weather in a city.",
    instruction="You answer questions about the time and the weather in a city with your tools.",
    tools=[get_weather, get_current_time],
)


async def ask(runner, question):
    print(f">>> {question}")
    message = types.Content(role="user", parts=[types.Part(text=question)])
    async for event in runner.run_async(user_id=USER, session_id=SESSION, new_message=message):
        for call in event.get_function_calls():
            print(f"[{event.author}] calls {call.name}({call.args})")
        if event.is_final_response() and event.content and event.content.parts:
            print(f"[{event.author}] {event.content.parts[0].text}")


async def main():
    sessions = InMemorySessionService()
    await sessions.create_session(app_name=APP, user_id=USER, session_id=SESSION)
    runner = Runner(agent=root_agent, app_name=APP, session_service=sessions)
    await ask(runner, "What are the weather and the time in New York?")
    await ask(runner, "And how is the weather in Paris?")


asyncio.run(main())
