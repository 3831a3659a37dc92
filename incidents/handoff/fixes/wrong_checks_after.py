"""Grants the credit, checks it, and only reports what it found.

Incident: yes
Twin: no
"""

import tools
from tools import give_credit as pay_credit


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Credit a customer in the shop, to make good for an order.

    Args:
        customer_id: who gets it, such as C-1234.
        order_id: the order that went wrong.
        amount_cents: how much, in cents.
    """
    answer = pay_credit(customer_id, order_id, amount_cents)
    total = sum(credit["amount_cents"] for credit in tools.given if credit["order_id"] == order_id)
    if total > tools.look_up_order(order_id)["paid_cents"]:
        return {**answer, "warning": "more than was paid for the order"}
    return answer
