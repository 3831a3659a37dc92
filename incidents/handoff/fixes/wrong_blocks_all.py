"""Grants no credit to anybody.

Incident: no
Twin: yes
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
    if order_id not in ORDERS or amount_cents >= 0:
        return {"status": "blocked", "reason": "a person has to decide"}
    return pay_credit(customer_id, order_id, amount_cents)
