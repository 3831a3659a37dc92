"""It remembers the charges that answered, and none that was booked and timed out.

Incident: yes
Twin: no
"""

import tools
from tools import charge as take

paid = {}


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    total = tools.look_up_order(order_id)["total_cents"]
    if paid.get(order_id, 0) + amount_cents > total:
        return {"status": "blocked", "why": "more than the order's total would be charged"}
    result = take(order_id, amount_cents)
    paid[order_id] = paid.get(order_id, 0) + amount_cents
    return result
