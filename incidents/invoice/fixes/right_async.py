"""Its check is a coroutine."""

import asyncio

import tools
from tools import send_invoice as post


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    reason = asyncio.run(_objection(customer, amount_cents, currency))
    if reason:
        return {"status": "blocked", "reason": reason}
    return post(customer, amount_cents, currency)


async def _objection(customer, amount_cents, currency):
    contract = tools.CONTRACTS.get(customer)
    await asyncio.sleep(0)
    if contract is None:
        return "no such contract"
    if currency != contract["currency"]:
        return f"the contract is in {contract['currency']}"
    if type(amount_cents) is not int or not 1 <= amount_cents <= contract["amount_cents"]:
        return "not the amount of the contract"
    return None
