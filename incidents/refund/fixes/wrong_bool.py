"""It takes a truth value for an amount of one cent.

Incident: no
Twin: no
Edge: {"order_id": "48213", "amount_cents": True}
"""

import tools
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    if order_id not in tools.ORDERS:
        return pay_back(order_id, amount_cents)
    before = sum(refund.amount_cents for refund in tools.refunds if refund.order_id == order_id)
    left = tools.ORDERS[order_id]["paid_cents"] - before
    if not isinstance(amount_cents, int) or not 1 <= amount_cents <= left:
        return {"status": "blocked", "reason": "more than is left of what was paid"}
    return pay_back(order_id, amount_cents)
