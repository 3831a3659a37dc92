"""Splits what is over the bank's limit into two transfers, which race as the whole did.

Incident: yes
Twin: no
"""

import asyncio

from tools import transfer as send

LIMIT = 6_000_000


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    if amount_cents <= LIMIT:
        return await send(source, payee, amount_cents)
    rest = amount_cents - LIMIT
    parts = await asyncio.gather(send(source, payee, LIMIT), send(source, payee, rest))
    return {**parts[-1], "amount_cents": amount_cents}
