"""The budget is checked in a coroutine, which runs to its end before anything is charged."""

import asyncio

import tools
from tools import search as look_for


async def pays_for_another():
    """Whether the budget pays for one search more."""
    await asyncio.sleep(0)
    return sum(tools.charged) + tools.PRICE_CENTS <= tools.BUDGET_CENTS


def search(query: str) -> dict:
    """Search the business press. Each search is charged to the budget of the project.

    Args:
        query: what to look for, a few words.
    """
    if not isinstance(query, str) or not query.strip():
        return {"status": "blocked", "why": "there is no query", "spent_cents": sum(tools.charged)}
    if not asyncio.run(pays_for_another()):
        return {"status": "blocked", "why": "the budget is spent", "spent_cents": sum(tools.charged)}
    return look_for(query)
