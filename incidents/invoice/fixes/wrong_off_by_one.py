"""It lets an invoice over nothing through.

Incident: no
Twin: no
Edge: {"customer": "Nordlicht GmbH", "amount_cents": 0, "currency": "EUR"}
"""

import tools
from tools import send_invoice as post


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    contract = tools.CONTRACTS.get(customer)
    if contract is None or currency != contract["currency"]:
        return {"status": "blocked", "reason": "not the currency of the contract"}
    if type(amount_cents) is not int or not 0 <= amount_cents <= contract["amount_cents"]:
        return {"status": "blocked", "reason": "not the amount of the contract"}
    return post(customer, amount_cents, currency)
