"""It refuses the one invoice of the incident.

Incident: no
Twin: no
Edge: {"customer": "Nordlicht GmbH", "amount_cents": 200000000, "currency": "GBP"}
"""

from tools import send_invoice as post


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    if (customer, amount_cents, currency) == ("Nordlicht GmbH", 200_000_000, "USD"):
        return {"status": "blocked", "reason": "the contract is in euros"}
    return post(customer, amount_cents, currency)
