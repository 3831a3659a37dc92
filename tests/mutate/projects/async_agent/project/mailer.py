"""An agent that sends the minutes of a meeting to whom it is told, all at once."""

import asyncio
import sys

import post


async def plan(request: str, addresses: list) -> list:
    """The model: first the names, then the mails."""
    await asyncio.sleep(0)
    names = [name for name in ("anna", "board", "press") if name in request]
    if not addresses:
        return [("address_of", {"name": name}) for name in names]
    files = 3 if "minutes" in request else 0
    return [("send", {"to": to, "subject": "minutes", "attachments": files}) for to in addresses]


async def answer(request: str) -> list:
    calls = await plan(request, [])
    addresses = await asyncio.gather(*(post.address_of(**arguments) for _, arguments in calls))
    calls = await plan(request, addresses)
    return await asyncio.gather(*(post.send(**arguments) for _, arguments in calls), return_exceptions=True)


def main(request: str) -> list:
    return asyncio.run(answer(request))


if __name__ == "__main__":
    print(main(sys.argv[1]))
