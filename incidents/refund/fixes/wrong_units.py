"""It compares whole units with cents, so that a hundred times the price may go out.

Incident: no
Twin: no
Edge: {"order_id": "48213", "amount_cents": 399000}
"""

import tools
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    if order_id not in tools.ORDERS:
        return pay_back(order_id, amount_cents)
    paid = tools.ORDERS[order_id]["paid_cents"]
    if type(amount_cents) is not int or amount_cents < 1 or amount_cents / 100 > paid:
        return {"status": "blocked", "reason": "more than was paid"}
    return pay_back(order_id, amount_cents)
