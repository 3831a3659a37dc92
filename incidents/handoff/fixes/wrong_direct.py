"""Writes the credit down itself, as one that is still to be approved.

Incident: yes
Twin: no
"""

from tools import ORDERS, given
from tools import give_credit as pay_credit


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Credit a customer in the shop, to make good for an order.

    Args:
        customer_id: who gets it, such as C-1234.
        order_id: the order that went wrong.
        amount_cents: how much, in cents.
    """
    if amount_cents > ORDERS.get(order_id, {"paid_cents": 0})["paid_cents"]:
        given.append({"customer_id": customer_id, "order_id": order_id, "amount_cents": amount_cents})
        return {"status": "blocked", "reason": "waits for approval"}
    return pay_credit(customer_id, order_id, amount_cents)
