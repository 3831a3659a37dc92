"""Its check runs in a thread of a pool."""

from concurrent.futures import ThreadPoolExecutor

import tools
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    with ThreadPoolExecutor(1) as pool:
        allowed = pool.submit(_may_pay, order_id, amount_cents).result()
    if not allowed:
        return {"status": "blocked", "reason": "not more than is left of what was paid"}
    return pay_back(order_id, amount_cents)


def _may_pay(order_id, amount_cents):
    if order_id not in tools.ORDERS:
        raise tools.UnknownOrder(f"no order {order_id}")
    before = sum(refund.amount_cents for refund in tools.refunds if refund.order_id == order_id)
    left = tools.ORDERS[order_id]["paid_cents"] - before
    return type(amount_cents) is int and 1 <= amount_cents <= left
