"""Each charge is capped at the order's total, whatever is booked already.

Incident: yes
Twin: no
"""

import tools
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    total = tools.look_up_order(order_id)["total_cents"]
    return take(order_id, min(amount_cents, total))
