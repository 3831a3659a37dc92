"""The fix: no more is refunded than is left of what was paid."""

from tools import ORDERS, refunds
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    left = ORDERS[order_id]["paid_cents"] - sum(r.amount_cents for r in refunds if r.order_id == order_id)
    if type(amount_cents) is not int or not 0 < amount_cents <= left:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"{amount_cents} cents can't be paid back: {left} are left of what was paid",
        }
    return pay_back(order_id, amount_cents)
