"""Lets two transfers in at once, where it may be one.

Incident: yes
Twin: no
"""

import asyncio
from collections import defaultdict

from tools import transfer as send

PLACES = defaultdict(lambda: asyncio.Semaphore(2))  # by event loop and account


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    async with PLACES[asyncio.get_running_loop(), source]:
        return await send(source, payee, amount_cents)
