"""Lets an order through that the shop doesn't have.

Incident: no
Twin: no
Edge: {"customer_id": "C-1042", "order_id": "9999", "amount_cents": 48000}
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
    order = ORDERS.get(order_id)
    if order and (amount_cents <= 0 or amount_cents > order["paid_cents"]):
        return {"status": "blocked", "reason": "more than was paid for the order"}
    return pay_credit(customer_id, order_id, amount_cents)
