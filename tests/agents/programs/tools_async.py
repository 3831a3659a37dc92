"""Asynchronous tools: coroutines, streams, a time limit, and one that is cancelled."""

import asyncio
import random


async def fetch(number):
    await asyncio.sleep(random.random() / 100)
    return number, random.random()


async def count(to):
    for number in range(to):
        await asyncio.sleep(random.random() / 500)
        yield number * random.random()


async def fails(number):
    await asyncio.sleep(0)
    raise ValueError(number, random.random())


async def for_ever():
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(0)


def starts(number):
    """No coroutine function, and returns a coroutine."""
    return fetch(number)


async def run():
    seen = list(await asyncio.gather(*(fetch(number) for number in range(8))))
    async for number in count(4):
        seen.append(number)
    async for number in count(9):
        if number:
            seen.append(number)
            break
    try:
        await fails(1)
    except ValueError as error:
        seen.append(error)
    seen += await asyncio.gather(fails(2), fetch(3), fails(4), return_exceptions=True)
    seen.append(await starts(5))
    try:
        async with asyncio.timeout(0.05):
            await for_ever()
    except TimeoutError:
        print("too late")
    task = asyncio.create_task(fetch(6))
    seen.append(await asyncio.shield(task))
    done, _ = await asyncio.wait([asyncio.create_task(fetch(number)) for number in (7, 8)])
    seen += sorted(each.result() for each in done)
    for first in asyncio.as_completed([fetch(number) for number in range(4)]):
        seen.append(await first)
    return seen


def main():
    seen = asyncio.run(run())
    for each in seen:
        print(repr(each))
    return seen


if __name__ == "__main__":
    main()
