"""Answers a text where the order doesn't cover the credit."""

import threading

import tools
from tools import give_credit as pay_credit

LOCK = threading.Lock()  # the SDK calls tools in threads


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict | str:
    """Credit a customer in the shop, to make good for an order.

    Args:
        customer_id: who gets it, such as C-1234.
        order_id: the order that went wrong.
        amount_cents: how much, in cents.
    """
    order = tools.ORDERS.get(order_id)
    if order is None or order["customer_id"] != customer_id:
        return "No: this customer has no such order."
    if not isinstance(amount_cents, int) or isinstance(amount_cents, bool) or amount_cents < 1:
        return "No: that is no amount."
    with LOCK:
        before = sum(credit["amount_cents"] for credit in tools.given if credit["order_id"] == order_id)
        if before + amount_cents > order["paid_cents"]:
            return "No: that is more than was paid for it."
        return pay_credit(customer_id, order_id, amount_cents)
