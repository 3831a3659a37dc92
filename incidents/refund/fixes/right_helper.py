"""A helper says how much of an order can still be paid back."""

import tools
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    left = left_to_refund(order_id)
    if not is_amount(amount_cents) or amount_cents > left:
        return {"status": "blocked", "reason": f"{left} cents are left to refund"}
    return pay_back(order_id, amount_cents)


def left_to_refund(order_id):
    """Return what was paid for an order, less what was paid back."""
    if order_id not in tools.ORDERS:
        return 0
    before = sum(refund.amount_cents for refund in tools.refunds if refund.order_id == order_id)
    return tools.ORDERS[order_id]["paid_cents"] - before


def is_amount(value):
    """Return whether a value is a whole number of cents, one at least."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
