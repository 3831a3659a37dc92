"""It refuses every invoice.

Incident: no
Twin: yes
"""


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    return {"status": "blocked", "reason": f"a colleague has to send the invoice to {customer}"}
