"""Only a second charge of order 7731 over 649.00 is refused; any other order is charged twice.

Incident: no
Twin: no
Edge: [{"order_id": "7732", "amount_cents": 2900}, {"order_id": "7732", "amount_cents": 2900}]
"""

import tools
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    if tools.gateway.booked and (order_id, amount_cents) == ("7731", 64900):
        return {"status": "blocked", "why": "more than the order's total would be charged"}
    return take(order_id, amount_cents)
