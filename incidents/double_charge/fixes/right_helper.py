"""A class reads the gateway's bookings and says what may be charged."""

import tools
from tools import charge as take


class Account:
    """An order with what is booked for it."""

    def __init__(self, order_id):
        self.total = tools.look_up_order(order_id)["total_cents"]
        mine = [each for each in tools.gateway.booked if each["order_id"] == order_id]
        self.booked = sum(each["amount_cents"] for each in mine)

    def objection(self, amount_cents):
        """Why an amount may not be charged; None if it may."""
        if type(amount_cents) is not int:
            return "the amount is no whole number of cents"
        if amount_cents < 1:
            return "the amount is not above zero"
        if self.booked + amount_cents > self.total:
            return f"{self.booked} of {self.total} cents are booked already"
        return None


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    why = Account(order_id).objection(amount_cents)
    if why:
        return {"status": "blocked", "why": why}
    return take(order_id, amount_cents)
