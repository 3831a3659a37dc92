"""Checks under the lock, and books after it has let go.

Incident: yes
Twin: no
"""

import asyncio
from collections import defaultdict

import tools
from tools import transfer as send

LOCKS = defaultdict(asyncio.Lock)  # by event loop and account


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    async with LOCKS[asyncio.get_running_loop(), source]:
        if type(amount_cents) is not int or not 0 < amount_cents <= tools.ACCOUNTS[source]["balance_cents"]:
            return {"status": "blocked", "reason": f"{source} doesn't hold that much"}
    return await send(source, payee, amount_cents)
