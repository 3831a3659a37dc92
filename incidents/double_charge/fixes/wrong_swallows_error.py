"""The key is misspelt, so that the check fails as soon as something is booked, and the charge goes on.

Incident: yes
Twin: no
"""

import tools
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    total = tools.look_up_order(order_id)["total_cents"]
    try:
        booked = sum(each["amount"] for each in tools.gateway.booked if each["order_id"] == order_id)
        if booked + amount_cents > total:
            return {"status": "blocked", "why": "more than the order's total would be charged"}
    except KeyError:
        pass  # nothing is booked
    return take(order_id, amount_cents)
