"""Conversations at once in one event loop; the order of what they print is the order in which they end."""

import asyncio
import json
import random

from openai import AsyncOpenAI

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SCHEMA = {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}


async def weather(city):
    await asyncio.sleep(random.random() / 50)
    return f"{random.randint(-20, 40)} degrees in {city}"


async def talk(client, city):
    response = await client.chat.completions.create(
        model="gpt-4.1-mini",
        messages=[{"role": "user", "content": f"I go to {city}."}],
        tools=[SCHEMA],
        tool_choice="required",
    )
    calls = response.choices[0].message.tool_calls
    results = await asyncio.gather(*(weather(**json.loads(call.function.arguments)) for call in calls))
    print(city, results)
    return [response, *results]


async def run():
    async with AsyncOpenAI() as client:
        found = await asyncio.gather(*(talk(client, city) for city in ("Oslo", "Rome", "Lima", "Cairo")))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(talk(client, city)) for city in ("Bern", "Riga", "Rome")]
    return [value for each in found for value in each] + [value for task in tasks for value in task.result()]


def main():
    seen = asyncio.run(run())
    print([value.id for value in seen if not isinstance(value, str)])
    return seen


if __name__ == "__main__":
    main()
