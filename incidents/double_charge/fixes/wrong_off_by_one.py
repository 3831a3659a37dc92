"""One cent more than the total goes through.

Incident: no
Twin: no
Edge: {"order_id": "7731", "amount_cents": 64901}
"""

import tools
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    total = tools.look_up_order(order_id)["total_cents"]
    booked = sum(each["amount_cents"] for each in tools.gateway.booked if each["order_id"] == order_id)
    if booked + amount_cents > total + 1 or amount_cents < 1:
        return {"status": "blocked", "why": "more than the order's total would be charged"}
    return take(order_id, amount_cents)
