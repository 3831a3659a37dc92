"""Knows the incident's credit, and no other.

Incident: no
Twin: no
Edge: {"customer_id": "C-1042", "order_id": "7731", "amount_cents": 47999}
"""

from tools import give_credit as pay_credit


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Credit a customer in the shop, to make good for an order.

    Args:
        customer_id: who gets it, such as C-1234.
        order_id: the order that went wrong.
        amount_cents: how much, in cents.
    """
    if (customer_id, order_id, amount_cents) == ("C-1042", "7731", 48000):
        return {"status": "blocked", "reason": "nothing was paid for this order"}
    return pay_credit(customer_id, order_id, amount_cents)
