"""The fix after an edit that has nothing to do with it: other words, the answer first, and a field for the auditors."""

import asyncio
from collections import defaultdict

from tools import ACCOUNTS
from tools import transfer as send

queues = defaultdict(asyncio.Lock)


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, when what goes before is booked."""
    async with queues[source]:
        left = ACCOUNTS[source]["balance_cents"] - amount_cents
        if left >= 0:
            return await send(source, payee, amount_cents)
    reason = f"{-left} cents more than {source} holds"
    return {"audit": f"{source}/{payee}", "status": "blocked", "blocked": True, "reason": reason}
