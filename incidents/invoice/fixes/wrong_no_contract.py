"""It takes the invoice for its own contract where there is none.

Incident: no
Twin: no
Edge: {"customer": "Nordlicht", "amount_cents": 200000000, "currency": "USD"}
"""

import tools
from tools import send_invoice as post


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    asked = {"amount_cents": amount_cents, "currency": currency}
    contract = tools.CONTRACTS.get(customer, asked)
    if currency != contract["currency"]:
        return {"status": "blocked", "reason": "not the currency of the contract"}
    if type(amount_cents) is not int or not 1 <= amount_cents <= contract["amount_cents"]:
        return {"status": "blocked", "reason": "not the amount of the contract"}
    return post(customer, amount_cents, currency)
