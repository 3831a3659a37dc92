"""It answers in other words when it refuses."""

import tools
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    if order_id not in tools.ORDERS:
        return {"refused": f"there is no order {order_id}"}
    if type(amount_cents) is not int or amount_cents < 1:
        return {"refused": "a refund is a whole number of cents, one at least"}
    before = sum(refund.amount_cents for refund in tools.refunds if refund.order_id == order_id)
    if before + amount_cents > tools.ORDERS[order_id]["paid_cents"]:
        return {"refused": "the customer paid less than that"}
    return pay_back(order_id, amount_cents)
