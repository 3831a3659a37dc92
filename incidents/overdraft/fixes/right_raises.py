"""A lock for each account; raises where the account doesn't cover a transfer."""

import asyncio
from collections import defaultdict

import tools
from tools import transfer as send

LOCKS = defaultdict(asyncio.Lock)  # by event loop and account


class NotCovered(tools.TransferRefused):
    """The account doesn't hold what is to be moved."""


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    if type(amount_cents) is not int or amount_cents <= 0:
        raise NotCovered(f"{amount_cents!r} is no amount")
    async with LOCKS[asyncio.get_running_loop(), source]:
        if source in tools.ACCOUNTS and amount_cents > tools.ACCOUNTS[source]["balance_cents"]:
            raise NotCovered(f"{source} doesn't hold {amount_cents} cents any more")
        return await send(source, payee, amount_cents)
