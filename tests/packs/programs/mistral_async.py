"""An agent on Mistral's SDK, asynchronous: whole, streamed, with a tool, two at a time, and an error that it handles."""

import asyncio
import json
import os

from mistralai.client import Mistral, errors

TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


async def weather(city):
    return f"mild in {city}"


async def whole(client):
    messages = [{"role": "user", "content": "How is the weather?"}]
    for _ in range(3):
        response = await client.chat.complete_async(model="mistral-small", messages=messages, tools=TOOLS)
        message = response.choices[0].message
        print(response.id, message.content)
        messages.append(message)
        for call in message.tool_calls or ():
            found = await weather(**json.loads(call.function.arguments))
            print("tool:", found)
            messages.append({"role": "tool", "name": "weather", "tool_call_id": call.id, "content": found})
        if not message.tool_calls:
            return


async def streamed(client, what):
    asked = [{"role": "user", "content": what}]
    async with await client.chat.stream_async(model="mistral-small", messages=asked) as stream:
        return [event.data.choices[0].delta.content async for event in stream]


async def run():
    server = os.environ.get("MISTRAL_URL")
    async with Mistral(api_key=os.environ.get("MISTRAL_API_KEY", ""), server_url=server) as client:
        await whole(client)
        print(await streamed(client, "A story."))
        print(await asyncio.gather(streamed(client, "A poem."), streamed(client, "A joke.")))
        try:
            await client.chat.complete_async(
                model="mistral-small", messages=[{"role": "user", "content": "fail"}]
            )
        except errors.MistralError as error:
            print(type(error).__name__, error.status_code, error.body)


if __name__ == "__main__":
    asyncio.run(run())
