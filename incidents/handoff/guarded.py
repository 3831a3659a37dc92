"""The fix: nobody gets more credit for an order than they paid for it, whoever has passed the claim on."""

from tools import ORDERS, given
from tools import give_credit as give


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Credit a customer for what was paid."""
    order = ORDERS[order_id]
    left = order["paid_cents"] - sum(each["amount_cents"] for each in given if each["order_id"] == order_id)
    is_amount = type(amount_cents) is int and amount_cents > 0
    if customer_id != order["customer_id"] or not is_amount or amount_cents > left:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"of order {order_id} there are {left} cents left, so {customer_id} can't get {amount_cents}",
        }
    return give(customer_id, order_id, amount_cents)
