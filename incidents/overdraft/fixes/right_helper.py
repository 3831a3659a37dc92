"""A class lets the transfers of an account through one by one, in the order in which they came."""

import asyncio
from contextlib import asynccontextmanager

import tools
from tools import transfer as send


class Turns:
    """Whose turn it is; each transfer waits for the one before it."""

    def __init__(self):
        """Begin with nobody waiting."""
        self._last = {}

    @asynccontextmanager
    async def of(self, source):
        """Wait until all earlier transfers of an account are through."""
        key = asyncio.get_running_loop(), source
        before, mine = self._last.get(key), asyncio.Event()
        self._last[key] = mine
        try:
            if before:
                await before.wait()
            yield
        finally:
            mine.set()


TURNS = Turns()


def objection(source, amount_cents):
    """Return why an account doesn't cover an amount; None if it does."""
    if type(amount_cents) is not int or amount_cents <= 0:
        return "no amount"
    if amount_cents > tools.ACCOUNTS.get(source, {"balance_cents": 0})["balance_cents"]:
        return f"{source} doesn't hold that much"
    return None


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    async with TURNS.of(source):
        reason = objection(source, amount_cents)
        if reason:
            return {"status": "blocked", "reason": reason}
        return await send(source, payee, amount_cents)
