"""A lock for each account; says what was refused under a key of its own."""

import asyncio
from collections import defaultdict

import tools
from tools import transfer as send

LOCKS = defaultdict(asyncio.Lock)  # by event loop and account


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    if isinstance(amount_cents, bool) or not isinstance(amount_cents, int) or amount_cents < 1:
        return {"refused": "that is no amount"}
    async with LOCKS[asyncio.get_running_loop(), source]:
        account = tools.ACCOUNTS.get(source)
        if account is None or payee not in tools.PAYEES:
            return {"refused": "there is no such account, or no such payee"}
        if amount_cents > account["balance_cents"]:
            return {"refused": f"{source} holds {account['balance_cents']} cents"}
        return await send(source, payee, amount_cents)
