"""The fix: no more is refunded than was paid."""

from tools import ORDERS
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    paid_cents = ORDERS[order_id]["paid_cents"]
    if amount_cents > paid_cents:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"{amount_cents} is more than the {paid_cents} that were paid",
        }
    return pay_back(order_id, amount_cents)
