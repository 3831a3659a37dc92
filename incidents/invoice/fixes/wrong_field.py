"""It asks whether any contract is in that currency, not whether this one is.

Incident: yes
Twin: no
"""

import tools
from tools import send_invoice as post


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    contract = tools.CONTRACTS.get(customer)
    known = {each["currency"] for each in tools.CONTRACTS.values()}
    if contract is None or currency not in known:
        return {"status": "blocked", "reason": "not the currency of the contract"}
    if type(amount_cents) is not int or not 1 <= amount_cents <= contract["amount_cents"]:
        return {"status": "blocked", "reason": "not the amount of the contract"}
    return post(customer, amount_cents, currency)
