"""It looks for the currency within the contract's, so that a part of the code will do.

Incident: no
Twin: no
Edge: {"customer": "Nordlicht GmbH", "amount_cents": 200000000, "currency": "EU"}
"""

import tools
from tools import send_invoice as post


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    contract = tools.CONTRACTS.get(customer)
    if contract is None or not currency or currency not in contract["currency"]:
        return {"status": "blocked", "reason": "not the currency of the contract"}
    if type(amount_cents) is not int or not 1 <= amount_cents <= contract["amount_cents"]:
        return {"status": "blocked", "reason": "not the amount of the contract"}
    return post(customer, amount_cents, currency)
