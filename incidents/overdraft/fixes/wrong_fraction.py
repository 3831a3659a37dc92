"""Takes fractions of a cent, and with them what is no number.

Incident: no
Twin: no
Edge: {"source": "operating", "payee": "Kessler GmbH", "amount_cents": 0.5}
"""

import asyncio
from collections import defaultdict

from tools import transfer as send

LOCKS = defaultdict(asyncio.Lock)  # by event loop and account


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    async with LOCKS[asyncio.get_running_loop(), source]:
        if isinstance(amount_cents, bool) or amount_cents <= 0:
            return {"status": "blocked", "reason": "no amount"}
        return await send(source, payee, amount_cents)
