"""An agent on ollama's asynchronous client: whole, streamed, two at a time, and an error that it handles."""

import asyncio

import ollama


async def weather(city: str) -> str:
    await asyncio.sleep(0)
    return f"mild in {city}"


SCHEMA = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tell the weather.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


async def whole(client):
    messages = [{"role": "user", "content": "How is the weather?"}]
    for _ in range(3):
        response = await client.chat("llama3.2", messages=messages, tools=[SCHEMA])
        print(type(response).__name__, response.created_at, response.message.content)
        messages.append(response.message)
        for call in response.message.tool_calls or ():
            found = await weather(**call.function.arguments)
            print("tool:", found)
            messages.append({"role": "tool", "tool_name": call.function.name, "content": found})
        if not response.message.tool_calls:
            return


async def streamed(client, what):
    said = []
    async for part in await client.chat("llama3.2", [{"role": "user", "content": what}], stream=True):
        said.append(part.message.content)
    return said


async def run():
    client = ollama.AsyncClient()
    await whole(client)
    print(await streamed(client, "A story."))
    print(await asyncio.gather(streamed(client, "A poem."), streamed(client, "A joke.")))
    try:
        await client.chat("llama3.2", [{"role": "user", "content": "fail"}])
    except ollama.ResponseError as error:
        print(type(error).__name__, error.status_code, error.error)
    await client.close()


if __name__ == "__main__":
    asyncio.run(run())
