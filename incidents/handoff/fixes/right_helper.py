"""A class keeps what is left of each order."""

import threading
from dataclasses import dataclass

import tools
from tools import give_credit as pay_credit

LOCK = threading.Lock()  # the SDK calls tools in threads


@dataclass(frozen=True)
class Allowance:
    """What a customer may still get for an order."""

    customer_id: str
    order_id: str

    @property
    def left_cents(self):
        """What was paid, without what was given for it; nothing if the order is not the customer's."""
        order = tools.ORDERS.get(self.order_id)
        if order is None or order["customer_id"] != self.customer_id:
            return 0
        return order["paid_cents"] - sum(
            credit["amount_cents"] for credit in tools.given if credit["order_id"] == self.order_id
        )

    def covers(self, amount_cents):
        """Return whether an amount is one, and is left."""
        return type(amount_cents) is int and 0 < amount_cents <= self.left_cents


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Credit a customer in the shop, to make good for an order.

    Args:
        customer_id: who gets it, such as C-1234.
        order_id: the order that went wrong.
        amount_cents: how much, in cents.
    """
    allowance = Allowance(customer_id, order_id)
    with LOCK:
        if not allowance.covers(amount_cents):
            return {"status": "blocked", "left_cents": allowance.left_cents}
        return pay_credit(customer_id, order_id, amount_cents)
