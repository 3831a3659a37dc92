"""An agent that speaks HTTP itself: sync, async and streamed, with httpx and httpx2."""

import asyncio
import json
import os

import httpx
import httpx2

URL = os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:9/v1") + "/chat/completions"
ASKED = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "Hello."}]}


def plain(library):
    with library.Client(headers={"authorization": "Bearer -"}) as client:
        response = client.post(URL, json=ASKED)
    response.raise_for_status()
    return response.json()


def refused(library):
    response = library.post(URL, json=ASKED, headers={"x-loopback": "400"})
    try:
        response.raise_for_status()
    except library.HTTPStatusError as error:
        return response.status_code, response.json(), str(error).partition(" for url")[0]


def streamed(library):
    with library.stream("POST", URL, json={**ASKED, "stream": True}) as response:
        return [json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: {")]


async def not_sync(library):
    async with library.AsyncClient() as client:
        found = await asyncio.gather(*(client.post(URL, json={**ASKED, "n": n}) for n in range(3)))
        async with client.stream("POST", URL, json={**ASKED, "stream": True}) as response:
            lines = [line async for line in response.aiter_lines()]
    return [*(each.json() for each in found), lines]


def broken(library):
    try:
        library.post(URL, json=ASKED, headers={"x-loopback": "disconnect"})
    except library.HTTPError as error:
        return type(error).__name__, str(error)


def main():
    seen = []
    for library in (httpx, httpx2):
        for part in (plain, refused, streamed, broken):
            seen.append(part(library))
        seen.append(asyncio.run(not_sync(library)))
    for each in seen:
        print(each)
    return seen


if __name__ == "__main__":
    main()
