"""The fix: one transfer at a time from an account, so that each sees what the one before has left."""

import asyncio
from collections import defaultdict

from tools import ACCOUNTS
from tools import transfer as send

locks = defaultdict(asyncio.Lock)


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, when what goes before is booked."""
    async with locks[asyncio.get_running_loop(), source]:
        balance = ACCOUNTS[source]["balance_cents"]
        if type(amount_cents) is not int or not 0 < amount_cents <= balance:
            return {
                "status": "blocked",
                "blocked": True,
                "reason": f"{source} holds {balance} cents, and {amount_cents} were to be moved",
            }
        return await send(source, payee, amount_cents)
