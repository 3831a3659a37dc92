"""The charge is made, and what is booked too much is only reported.

Incident: yes
Twin: no
"""

import tools
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    result = take(order_id, amount_cents)
    booked = sum(each["amount_cents"] for each in tools.gateway.booked if each["order_id"] == order_id)
    total = tools.look_up_order(order_id)["total_cents"]
    if booked > total:
        return {**result, "warning": f"{booked - total} cents too much are booked"}
    return result
