"""No charge is let through, not even the first one.

Incident: no
Twin: yes
"""


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    return {"status": "blocked", "why": "more than the order's total would be charged"}
