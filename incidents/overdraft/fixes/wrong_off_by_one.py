"""Waits for its turn, but lets an account go one cent below zero.

Incident: no
Twin: no
Edge: {"source": "operating", "payee": "Kessler GmbH", "amount_cents": 8400001}
"""

import asyncio
from collections import defaultdict

import tools

LOCKS = defaultdict(asyncio.Lock)  # by event loop and account


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    async with LOCKS[asyncio.get_running_loop(), source]:
        account = tools._account(source)
        if amount_cents <= 0 or amount_cents > account["balance_cents"] + 1:
            return {"status": "blocked", "reason": f"{source} doesn't hold that much"}
        iban = await tools._screen(payee)
        account["balance_cents"] -= amount_cents
        booking = {"source": source, "payee": payee, "iban": iban, "amount_cents": amount_cents}
        tools.booked.append(booking)
        return {"status": "booked", **booking, "balance_cents": account["balance_cents"]}
