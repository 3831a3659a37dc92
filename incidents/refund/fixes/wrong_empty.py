"""It checks only an amount that is there: none at all, or zero, becomes a refund.

Incident: no
Twin: no
Edge: {"order_id": "48213", "amount_cents": None}
"""

import tools
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    if amount_cents and not _may_pay(order_id, amount_cents):
        return {"status": "blocked", "reason": "more than is left of what was paid"}
    return pay_back(order_id, amount_cents)


def _may_pay(order_id, amount_cents):
    if order_id not in tools.ORDERS:
        return False
    before = sum(refund.amount_cents for refund in tools.refunds if refund.order_id == order_id)
    return type(amount_cents) is int and 1 <= amount_cents <= tools.ORDERS[order_id]["paid_cents"] - before
