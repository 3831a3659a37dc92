"""The fix after an edit that has nothing to do with it: other words, and a field for the auditors."""

from tools import ORDERS, refunds
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    most = ORDERS[order_id]["paid_cents"]
    for each in refunds:
        if each.order_id == order_id:
            most -= each.amount_cents
    if type(amount_cents) is int and 1 <= amount_cents <= most:
        return pay_back(order_id, amount_cents)
    reason = f"of order {order_id} {most / 100:,.2f} can be paid back; nothing was"
    return {"audit": f"{order_id}/{amount_cents}", "status": "blocked", "blocked": True, "reason": reason}
