"""Only the same amount again is refused; a cent less is charged on top.

Incident: no
Twin: no
Edge: [{"order_id": "7731", "amount_cents": 64900}, {"order_id": "7731", "amount_cents": 64899}]
"""

import tools
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    total = tools.look_up_order(order_id)["total_cents"]
    again = any(
        (each["order_id"], each["amount_cents"]) == (order_id, amount_cents) for each in tools.gateway.booked
    )
    if again or not 0 < amount_cents <= total:
        return {"status": "blocked", "why": "more than the order's total would be charged"}
    return take(order_id, amount_cents)
