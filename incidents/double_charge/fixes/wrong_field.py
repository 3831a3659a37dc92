"""The bookings are looked up by the charge's id, which is never the order's number.

Incident: yes
Twin: no
"""

import tools
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    total = tools.look_up_order(order_id)["total_cents"]
    booked = sum(each["amount_cents"] for each in tools.gateway.booked if each["id"] == order_id)
    if booked + amount_cents > total:
        return {"status": "blocked", "why": "more than the order's total would be charged"}
    return take(order_id, amount_cents)
