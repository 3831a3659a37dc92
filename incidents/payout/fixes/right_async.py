"""Asks for the account on file in an event loop of its own."""

import asyncio

from tools import INVOICES, VENDORS
from tools import pay_invoice as pay


async def _on_file(number):
    await asyncio.sleep(0)
    invoice = INVOICES.get(number) if isinstance(number, str) else None
    return VENDORS[invoice["vendor"]]["account"] if invoice else None


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    if account != asyncio.run(_on_file(number)) or account is None:
        return {"status": "blocked", "reason": "not the account on file"}
    return pay(number, account)
