"""The fix: nobody gets more credit for an order than was paid for it, whoever has passed the claim on."""

from tools import ORDERS
from tools import give_credit as give


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Give a customer credit for what was paid."""
    paid_cents = ORDERS[order_id]["paid_cents"]
    if amount_cents > paid_cents:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"{paid_cents} cents were paid for order {order_id}, so {amount_cents} can't be given",
        }
    return give(customer_id, order_id, amount_cents)
