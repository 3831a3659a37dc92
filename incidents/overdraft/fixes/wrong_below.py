"""Refuses to move all that an account holds.

Incident: no
Twin: yes
"""

import asyncio
from collections import defaultdict

import tools
from tools import transfer as send

LOCKS = defaultdict(asyncio.Lock)  # by event loop and account


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    async with LOCKS[asyncio.get_running_loop(), source]:
        if amount_cents <= 0 or amount_cents >= tools.ACCOUNTS[source]["balance_cents"]:
            return {"status": "blocked", "reason": f"{source} doesn't hold that much"}
        return await send(source, payee, amount_cents)
