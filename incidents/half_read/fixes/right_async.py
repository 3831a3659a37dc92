"""Checks in a coroutine, which has a loop of its own in a thread."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from tools import ready as can_begin


async def _objection(name, arguments, ended):
    await asyncio.sleep(0)
    if ended is not True:
        return {"status": "waiting", "missing": ["the end"]}
    keep = arguments.get("keep")
    listed = isinstance(keep, list) and keep and all(isinstance(file, str) and file for file in keep)
    if name == "clean_up" and not listed:
        return {"status": "incomplete", "missing": ["keep"]}
    return None


def ready(name, arguments, ended):
    """Return whether a call can be made: at the end of it."""
    with ThreadPoolExecutor(1) as pool:
        objection = pool.submit(lambda: asyncio.run(_objection(name, arguments, ended))).result()
    return objection or can_begin(name, arguments, ended)
