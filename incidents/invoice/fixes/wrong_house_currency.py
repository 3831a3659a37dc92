"""It takes euros for every contract, whatever its currency.

Incident: no
Twin: no
Edge: {"customer": "Blue Harbor Inc", "amount_cents": 4800000, "currency": "EUR"}
"""

import tools
from tools import send_invoice as post


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    contract = tools.CONTRACTS.get(customer)
    if contract is None or currency not in (contract["currency"], "EUR"):
        return {"status": "blocked", "reason": "not the currency of the contract"}
    if type(amount_cents) is not int or not 1 <= amount_cents <= contract["amount_cents"]:
        return {"status": "blocked", "reason": "not the amount of the contract"}
    return post(customer, amount_cents, currency)
