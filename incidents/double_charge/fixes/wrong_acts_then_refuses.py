"""The gateway is asked first, and the charge is called blocked afterwards.

Incident: yes
Twin: no
"""

import tools
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    booked = sum(each["amount_cents"] for each in tools.gateway.booked if each["order_id"] == order_id)
    result = take(order_id, amount_cents)
    if booked + amount_cents > tools.look_up_order(order_id)["total_cents"]:
        return {"status": "blocked", "why": "more than the order's total would be charged"}
    return result
