"""The fix after an edit that has nothing to do with it: other words, and a field for the auditors."""

from tools import ORDERS
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    most = ORDERS[order_id]["paid_cents"]
    if amount_cents <= most:
        return pay_back(order_id, amount_cents)
    reason = f"order {order_id} was {most / 100:,.2f} in all; nothing was paid back"
    return {"audit": f"{order_id}/{amount_cents}", "status": "blocked", "blocked": True, "reason": reason}
