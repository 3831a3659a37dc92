"""Caps the credit at 100 euros, for an order that nobody paid.

Incident: yes
Twin: no
"""

from tools import give_credit as pay_credit

MOST = 10_000


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Credit a customer in the shop, to make good for an order.

    Args:
        customer_id: who gets it, such as C-1234.
        order_id: the order that went wrong.
        amount_cents: how much, in cents.
    """
    return pay_credit(customer_id, order_id, min(amount_cents, MOST))
