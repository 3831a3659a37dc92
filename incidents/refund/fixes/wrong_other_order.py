"""It compares the amount with the dearest order of all, not with this one.

Incident: no
Twin: no
Edge: {"order_id": "50117", "amount_cents": 3990}
"""

import tools
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    most = max(order["paid_cents"] for order in tools.ORDERS.values())
    before = sum(refund.amount_cents for refund in tools.refunds if refund.order_id == order_id)
    if type(amount_cents) is not int or not 1 <= amount_cents <= most - before:
        return {"status": "blocked", "reason": "more than was paid"}
    return pay_back(order_id, amount_cents)
