"""It sends first, and only reports that the currency is another.

Incident: yes
Twin: no
"""

import tools
from tools import send_invoice as post


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    answer = post(customer, amount_cents, currency)
    contract = tools.CONTRACTS.get(customer, {})
    if currency != contract.get("currency"):
        return {**answer, "warning": "not the currency of the contract"}
    return answer
