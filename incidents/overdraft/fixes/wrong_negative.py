"""Waits for its turn, and takes a negative amount, which adds money to the account.

Incident: no
Twin: no
Edge: {"source": "operating", "payee": "Kessler GmbH", "amount_cents": -3150000}
"""

import asyncio
from collections import defaultdict

from tools import transfer as send

LOCKS = defaultdict(asyncio.Lock)  # by event loop and account


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    async with LOCKS[asyncio.get_running_loop(), source]:
        return await send(source, payee, amount_cents)
