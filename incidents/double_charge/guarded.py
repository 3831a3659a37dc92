"""The fix: the card is charged for what is still to be paid of an order, and no more."""

from tools import ORDERS, gateway
from tools import charge as take


def charge(order_id, amount_cents):
    """Charge the card of an order, unless the gateway has booked that already."""
    booked = [each for each in gateway.booked if each["order_id"] == order_id]
    due = ORDERS[order_id]["total_cents"] - sum(each["amount_cents"] for each in booked)
    if type(amount_cents) is not int or not 0 < amount_cents <= due:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"{amount_cents} cents can't be charged: {due} are due for order {order_id}",
            "charges": [each["id"] for each in booked],
        }
    return take(order_id, amount_cents)
