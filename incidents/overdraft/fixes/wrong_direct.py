"""Books by itself, with the old moment between the check and the booking.

Incident: yes
Twin: no
"""

import asyncio

from tools import ACCOUNTS, PAYEES, TransferRefused, booked


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    if source not in ACCOUNTS or payee not in PAYEES:
        raise TransferRefused("no such account or payee")
    if type(amount_cents) is not int or not 0 < amount_cents <= ACCOUNTS[source]["balance_cents"]:
        raise TransferRefused(f"{source} doesn't hold {amount_cents} cents")
    await asyncio.sleep(0.01)
    ACCOUNTS[source]["balance_cents"] -= amount_cents
    booking = {"source": source, "payee": payee, "iban": PAYEES[payee], "amount_cents": amount_cents}
    booked.append(booking)
    return {"status": "booked", **booking, "balance_cents": ACCOUNTS[source]["balance_cents"]}
