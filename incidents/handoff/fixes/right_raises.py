"""Raises an exception of its own where the order doesn't cover the credit."""

import threading

import tools
from tools import give_credit as pay_credit

LOCK = threading.Lock()  # the SDK calls tools in threads


class NotCovered(Exception):
    """The order doesn't cover the credit."""


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Credit a customer in the shop, to make good for an order.

    Args:
        customer_id: who gets it, such as C-1234.
        order_id: the order that went wrong.
        amount_cents: how much, in cents.
    """
    order = tools.look_up_order(order_id)
    if order["customer_id"] != customer_id:
        raise NotCovered(f"order {order_id} is not one of {customer_id}")
    if type(amount_cents) is not int or amount_cents <= 0:
        raise ValueError(f"{amount_cents!r} is no amount")
    with LOCK:
        given = sum(credit["amount_cents"] for credit in tools.given if credit["order_id"] == order_id)
        if given + amount_cents > order["paid_cents"]:
            raise NotCovered(f"{given} of {order['paid_cents']} cents were given already")
        return pay_credit(customer_id, order_id, amount_cents)
