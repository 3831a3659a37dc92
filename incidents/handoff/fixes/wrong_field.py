"""Compares with what the customer paid for all orders, not for this one.

Incident: no
Twin: no
Edge: {"customer_id": "C-1042", "order_id": "7731", "amount_cents": 3490}
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
    paid = sum(order["paid_cents"] for order in ORDERS.values() if order["customer_id"] == customer_id)
    if amount_cents > paid:
        return {"status": "blocked", "reason": "more than was paid"}
    return pay_credit(customer_id, order_id, amount_cents)
