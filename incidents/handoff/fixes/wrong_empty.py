"""Checks only where an order is named.

Incident: no
Twin: no
Edge: {"customer_id": "C-1042", "order_id": "", "amount_cents": 48000}
"""

from tools import ORDERS
from tools import give_credit as pay_credit


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Credit a customer in the shop, to make good for an order.

    Args:
        customer_id: who gets it, such as C-1234.
        order_id: the order that went wrong.
        amount_cents: how much, in cents.
    """
    if order_id and (order_id not in ORDERS or amount_cents > ORDERS[order_id]["paid_cents"]):
        return {"status": "blocked", "reason": "more than was paid for the order"}
    return pay_credit(customer_id, order_id, amount_cents)
