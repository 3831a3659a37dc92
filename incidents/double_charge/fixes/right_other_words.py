"""A refusal has no status: it says what is refused and what is paid."""

import tools
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    total = tools.look_up_order(order_id)["total_cents"]
    booked = sum(each["amount_cents"] for each in tools.gateway.booked if each["order_id"] == order_id)
    if type(amount_cents) is not int or amount_cents < 1:
        return {"refused": "the amount must be a whole number of cents, one or more"}
    if amount_cents > total - booked:
        return {"refused": f"order {order_id} has {total - booked} cents to pay", "paid_cents": booked}
    return take(order_id, amount_cents)
