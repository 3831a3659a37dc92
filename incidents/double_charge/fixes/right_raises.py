"""A charge of more than is still to be paid raises, and so does an amount that is none."""

import tools
from tools import charge as take


class Overcharge(ValueError):
    """The customer would pay more than the order's total."""


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    if type(amount_cents) is not int or amount_cents < 1:
        raise ValueError(f"{amount_cents!r} is no amount in cents")
    total = tools.look_up_order(order_id)["total_cents"]
    booked = sum(each["amount_cents"] for each in tools.gateway.booked if each["order_id"] == order_id)
    if booked + amount_cents > total:
        raise Overcharge(f"{booked} of {total} cents are booked for order {order_id}")
    return take(order_id, amount_cents)
