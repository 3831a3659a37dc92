"""It refuses every large amount, the right one in the right currency too.

Incident: no
Twin: yes
"""

from tools import send_invoice as post


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    if type(amount_cents) is not int or not 1 <= amount_cents <= 100_000_000:
        return {"status": "blocked", "reason": "an invoice of that size needs a colleague"}
    return post(customer, amount_cents, currency)
