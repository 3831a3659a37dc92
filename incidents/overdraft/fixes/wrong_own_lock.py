"""Each call has a lock of its own, so none waits for another.

Incident: yes
Twin: no
"""

import asyncio

from tools import transfer as send


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    async with asyncio.Lock():
        return await send(source, payee, amount_cents)
