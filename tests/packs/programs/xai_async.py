"""An agent on xAI's SDK, asynchronous: whole, streamed, with a tool, several at a time, and an error that it handles."""

import asyncio
import json
import os
from datetime import timedelta

import grpc
from xai_sdk import AsyncClient
from xai_sdk.chat import tool, tool_result, user

TOOLS = [tool(name="weather", description="Say how the weather is.", parameters={"type": "object"})]


async def weather(city):
    await asyncio.sleep(0)
    return f"mild in {city}"


async def whole(client):
    chat = client.chat.create(model="grok-4", tools=TOOLS, messages=[user("How is the weather?")])
    while True:
        response = await chat.sample()
        print(response.id, response.content)
        chat.append(response)
        for call in response.tool_calls:
            found = await weather(**json.loads(call.function.arguments))
            print("tool:", found)
            chat.append(tool_result(found, call.id))
        if not response.tool_calls:
            return


async def streamed(client, what):
    chat = client.chat.create(model="grok-4", messages=[user(what)])
    said = [chunk.content async for _, chunk in chat.stream()]
    print(what, "".join(said))
    return said


async def failing(client):
    chat = client.chat.create(model="grok-4", messages=[user("fail")])
    try:
        await chat.sample()
    except grpc.aio.AioRpcError as error:
        print(error)
    try:
        async for _ in chat.stream():
            pass
    except grpc.aio.AioRpcError as error:
        print(type(error).__name__, error.code(), error.details())


async def run():
    client = AsyncClient(api_host=os.environ.get("XAI_API_HOST", "api.x.ai"))
    await whole(client)
    print(await streamed(client, "A story."))
    print(await asyncio.gather(*(streamed(client, f"A poem of {lines}.") for lines in range(4))))
    chat = client.chat.create(model="grok-4", messages=[user("A riddle.")])
    print((await chat.defer(interval=timedelta(milliseconds=10))).content)
    print(await client.tokenize.tokenize_text("Once upon a time", model="grok-4"))
    await failing(client)
    await client.close()


if __name__ == "__main__":
    asyncio.run(run())
