"""Errors of the API that the program handles, and prints."""

import asyncio
import traceback

import openai

ASKED = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "Hello."}]}


def show(error):
    print(type(error).__name__, error)
    print(
        getattr(error, "status_code", None), getattr(error, "request_id", None), getattr(error, "body", None)
    )


def main():
    seen = []
    for fault in ("400", "401", "404", "422"):
        try:
            openai.OpenAI(default_headers={"x-loopback": fault}).chat.completions.create(**ASKED)
        except openai.APIStatusError as error:
            show(error)
            seen.append(error)
    for fault in ("429", "503", "disconnect"):
        client = openai.OpenAI(default_headers={"x-loopback": fault}, max_retries=1)
        try:
            client.chat.completions.create(**ASKED)
        except openai.APIError as error:
            show(error)
            seen.append(error)
    try:
        for chunk in openai.OpenAI(default_headers={"x-loopback": "disconnect"}).chat.completions.create(
            **ASKED, stream=True
        ):
            seen.append(chunk)
            print(chunk.id)
    except Exception as error:
        print(type(error).__module__, type(error).__name__, error)

    async def ask():
        async with openai.AsyncOpenAI(default_headers={"x-loopback": "400"}) as other:
            return await other.chat.completions.create(**ASKED)

    try:
        asyncio.run(ask())
    except openai.BadRequestError as error:
        show(error)
        seen.append(error)
        print(traceback.format_exception_only(error))
    seen.append(openai.OpenAI().chat.completions.create(**ASKED))
    print(seen[-1].choices[0].message.content)
    return seen


if __name__ == "__main__":
    main()
