"""An agent on google-genai's asynchronous client: function calls of its own, streams, two at a time, and an error."""

import asyncio

from google import genai
from google.genai import errors, types


async def weather(city: str) -> str:
    """Return the weather of a city."""
    await asyncio.sleep(0)
    print("looked up", city)
    return f"mild in {city}"


async def streamed(client, what):
    stream = await client.aio.models.generate_content_stream(model="gemini-2.5-flash", contents=what)
    return [chunk.text async for chunk in stream]


async def run():
    client = genai.Client()
    config = types.GenerateContentConfig(tools=[weather])
    response = await client.aio.models.generate_content(
        model="gemini-2.5-flash", contents="How is the weather?", config=config
    )
    print(response.response_id, response.text, sorted(response.sdk_http_response.headers.items()))
    print(await streamed(client, "A story."))
    print(await asyncio.gather(streamed(client, "A poem."), streamed(client, "A joke.")))
    async for chunk in await client.aio.models.generate_content_stream(
        model="gemini-2.5-flash", contents="One word."
    ):
        print("first:", chunk.text)
        break
    try:
        await client.aio.models.generate_content(model="gemini-2.5-flash", contents="fail")
    except errors.ClientError as error:
        print(type(error).__name__, error.code, error.status, error.message)
    await client.aio.aclose()


if __name__ == "__main__":
    asyncio.run(run())
