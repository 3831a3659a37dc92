"""Anthropic's client: a retried 429, and errors that the program handles."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import anthropic

ASKED = {"model": "claude-sonnet-4-5", "max_tokens": 50, "messages": [{"role": "user", "content": "Hello."}]}


def ask(fault):
    try:
        return anthropic.Anthropic(default_headers={"x-loopback": fault}, max_retries=1).messages.create(
            **ASKED
        )
    except anthropic.APIError as error:
        return error


def main():
    seen = [ask(fault) for fault in ("429*1", "400", "529", "429")]
    with ThreadPoolExecutor(4) as pool:
        seen += pool.map(ask, ["500*1", "400", "429*1", "404"])

    async def not_sync(fault):
        async with anthropic.AsyncAnthropic(default_headers={"x-loopback": fault}) as client:
            return await client.messages.create(**ASKED)

    seen.append(asyncio.run(not_sync("429*1")))
    try:
        asyncio.run(not_sync("413"))
    except anthropic.APIStatusError as error:
        seen.append(error)
    for each in seen:
        print(repr(each), getattr(each, "_request_id", None), getattr(each, "body", None))
    return seen


if __name__ == "__main__":
    main()
