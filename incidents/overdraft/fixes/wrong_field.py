"""Has a lock for each payee, where the account is what they share.

Incident: yes
Twin: no
"""

import asyncio
from collections import defaultdict

from tools import transfer as send

LOCKS = defaultdict(asyncio.Lock)  # by event loop and payee


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    async with LOCKS[asyncio.get_running_loop(), payee]:
        return await send(source, payee, amount_cents)
