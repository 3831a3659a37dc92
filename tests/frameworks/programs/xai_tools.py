"""xAI: a loop with tools by functions in a dict, a stream, and the asynchronous client with several tools at once."""

import asyncio
import json
import os

from footprint import footprint
from xai_sdk import AsyncClient, Client
from xai_sdk.chat import system, tool, tool_result, user

HOST = os.environ.get("XAI_API_HOST", "api.x.ai")
MODEL = "grok-4"


def get_temperature(location, unit="fahrenheit"):
    footprint("get_temperature")
    return {"location": location, "temperature": 59 if unit == "fahrenheit" else 15, "unit": unit}


def get_ceiling(location):
    footprint("get_ceiling")
    return {"location": location, "ceiling": 15000, "description": "broken clouds"}


async def get_exchange_rate(base):
    footprint("get_exchange_rate")
    await asyncio.sleep(0.01)
    return {"base": base, "rate": 0.86 if base == "USD" else 1.15}


def place(**more):
    properties = {"location": {"type": "string", "description": "The city and state"}, **more}
    return {"type": "object", "properties": properties, "required": ["location"]}


TOOLS = [
    tool(
        name="get_temperature",
        description="Get the current temperature in a given location.",
        parameters=place(unit={"type": "string", "enum": ["celsius", "fahrenheit"]}),
    ),
    tool(name="get_ceiling", description="Get the cloud ceiling in a given location.", parameters=place()),
]
RATES = [
    tool(
        name="get_exchange_rate",
        description="Say how many euros a currency is worth.",
        parameters={"type": "object", "properties": {"base": {"type": "string"}}, "required": ["base"]},
    )
]
TOOLS_MAP = {"get_temperature": get_temperature, "get_ceiling": get_ceiling}


def weather():
    client = Client(api_host=HOST)
    chat = client.chat.create(model=MODEL, tools=TOOLS)
    chat.append(user("What is the temperature in San Francisco, and how high are the clouds?"))
    response = chat.sample()
    while response.tool_calls:
        chat.append(response)
        for call in response.tool_calls:
            result = TOOLS_MAP[call.function.name](**json.loads(call.function.arguments))
            chat.append(tool_result(json.dumps(result)))
        response = chat.sample()
    print(response.content, response.usage.total_tokens)

    chat = client.chat.create(model=MODEL, messages=[system("You are a pirate."), user("Tell me a joke.")])
    for response, chunk in chat.stream():
        print(chunk.content, end="", flush=True)
    print()
    print(response.content)


async def money():
    client = AsyncClient(api_host=HOST)
    chat = client.chat.create(
        model=MODEL, tools=RATES, messages=[user("What are 10 dollars and 10 pounds in euros?")]
    )
    response = await chat.sample()
    while response.tool_calls:
        chat.append(response)
        asked = [json.loads(call.function.arguments) for call in response.tool_calls]
        results = await asyncio.gather(*(get_exchange_rate(**arguments) for arguments in asked))
        for call, result in zip(response.tool_calls, results, strict=True):
            chat.append(tool_result(json.dumps(result), tool_call_id=call.id))
        response = await chat.sample()
    print(response.content)
    chat = client.chat.create(model=MODEL, messages=[user("Say it as a proverb.")])
    async for _, chunk in chat.stream():
        print(chunk.content, end="", flush=True)
    print()
    await client.close()


if __name__ == "__main__":
    weather()
    asyncio.run(money())
