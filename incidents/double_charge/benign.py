"""The fix after an edit that has nothing to do with it: other words, and what is open instead of the charges."""

from tools import ORDERS, gateway
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order, unless the gateway has booked that already."""
    open_cents = ORDERS[order_id]["total_cents"]
    for each in gateway.booked:
        if each["order_id"] == order_id:
            open_cents -= each["amount_cents"]
    if type(amount_cents) is int and 1 <= amount_cents <= open_cents:
        return take(order_id, amount_cents)
    reason = f"no charge: {open_cents} cents are open"
    return {"open_cents": open_cents, "status": "blocked", "blocked": True, "reason": reason}
