"""It raises an error of its own for a refund of more than is left of what was paid."""

import tools
from tools import issue_refund as pay_back


class RefundTooLarge(ValueError):
    """The refund is no amount, or more than is left of what was paid."""


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    if order_id not in tools.ORDERS:
        raise tools.UnknownOrder(f"no order {order_id}")
    before = sum(refund.amount_cents for refund in tools.refunds if refund.order_id == order_id)
    left = tools.ORDERS[order_id]["paid_cents"] - before
    if type(amount_cents) is not int or not 1 <= amount_cents <= left:
        raise RefundTooLarge(f"blocked: {amount_cents!r} is not between 1 and {left} cents")
    return pay_back(order_id, amount_cents)
