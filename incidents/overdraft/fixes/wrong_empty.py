"""Checks only where there is an amount: a transfer of nothing is booked.

Incident: no
Twin: no
Edge: {"source": "operating", "payee": "Kessler GmbH", "amount_cents": 0}
"""

import asyncio
from collections import defaultdict

from tools import transfer as send

LOCKS = defaultdict(asyncio.Lock)  # by event loop and account


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    async with LOCKS[asyncio.get_running_loop(), source]:
        if amount_cents and (type(amount_cents) is not int or amount_cents < 0):
            return {"status": "blocked", "reason": "no amount"}
        return await send(source, payee, amount_cents)
