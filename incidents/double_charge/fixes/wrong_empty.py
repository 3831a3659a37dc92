"""An amount of nothing gets past the check, and is booked.

Incident: no
Twin: no
Edge: {"order_id": "7731", "amount_cents": None}
"""

import tools
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    total = tools.look_up_order(order_id)["total_cents"]
    booked = sum(each["amount_cents"] for each in tools.gateway.booked if each["order_id"] == order_id)
    if amount_cents and not 0 < amount_cents <= total - booked:
        return {"status": "blocked", "why": "more than the order's total would be charged"}
    return take(order_id, amount_cents)
