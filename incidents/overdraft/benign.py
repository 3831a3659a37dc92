"""The fix after an edit that has nothing to do with it: other words, the answer first, and a field for the auditors."""

import asyncio
from collections import defaultdict

from tools import ACCOUNTS
from tools import transfer as send

queues = defaultdict(asyncio.Lock)


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, when what goes before is booked."""
    async with queues[source, asyncio.get_running_loop()]:
        held = ACCOUNTS[source]["balance_cents"]
        if type(amount_cents) is int and 1 <= amount_cents <= held:
            return await send(source, payee, amount_cents)
    reason = f"{amount_cents} cents are not to be moved: {source} holds {held}"
    return {"audit": f"{source}/{payee}", "status": "blocked", "blocked": True, "reason": reason}
