"""An agent on google-genai: its own loop of function calls, a chat, streams, and errors that it handles."""

import os

from google import genai
from google.genai import errors, types

TOWNS = {"Oslo": 4, "Rome": 21}


def weather(city: str) -> dict:
    """Return the weather of a city."""
    print("looked up", city)
    return {"city": city, "degrees": TOWNS[city]}


def by_itself(client):
    config = types.GenerateContentConfig(tools=[weather], temperature=0.2)
    response = client.models.generate_content(
        model="gemini-2.5-flash", contents="How is the weather?", config=config
    )
    print(type(response).__name__, response.response_id, response.text)
    print(len(response.automatic_function_calling_history), response.usage_metadata.total_token_count)


def chatting(client):
    chat = client.chats.create(model="gemini-2.5-flash", config=types.GenerateContentConfig(tools=[weather]))
    print(chat.send_message("How is the weather?").text)
    print([content.role for content in chat.get_history()])


def streamed(client, what, tools=()):
    config = types.GenerateContentConfig(tools=list(tools))
    return client.models.generate_content_stream(model="gemini-2.5-flash", contents=what, config=config)


def main():
    client = genai.Client(http_options={"base_url": os.environ.get("GOOGLE_GEMINI_BASE_URL")})
    by_itself(client)
    chatting(client)
    for chunk in streamed(client, "How is the weather?", [weather]):
        print(type(chunk).__name__, repr(chunk.text), chunk.usage_metadata.candidates_token_count)
    early = streamed(client, "A story.")
    print(next(early).text)
    early.close()
    for ask in (client.models.generate_content, client.models.generate_content_stream):
        try:
            print(list(ask(model="gemini-2.5-flash", contents="fail")))
        except errors.ClientError as error:
            print(type(error).__name__, error.code, error.status, error.message)


if __name__ == "__main__":
    main()
