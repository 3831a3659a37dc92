"""Doesn't ask whose order it is: one customer gets credit for what another one paid.

Incident: no
Twin: no
Edge: {"customer_id": "C-1042", "order_id": "7802", "amount_cents": 18900}
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
    paid = tools.look_up_order(order_id)["paid_cents"]
    before = sum(credit["amount_cents"] for credit in tools.given if credit["order_id"] == order_id)
    if amount_cents <= 0 or before + amount_cents > paid:
        return {"status": "blocked", "reason": "more than was paid for the order"}
    return pay_credit(customer_id, order_id, amount_cents)
