"""The fix after an edit that has nothing to do with it: other words, and a field for the auditors."""

from tools import ORDERS, given
from tools import give_credit as give


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Credit a customer for what was paid."""
    order = ORDERS[order_id]
    most = order["paid_cents"]
    for each in given:
        if each["order_id"] == order_id:
            most -= each["amount_cents"]
    is_theirs = customer_id == order["customer_id"]
    if is_theirs and type(amount_cents) is int and 1 <= amount_cents <= most:
        return give(customer_id, order_id, amount_cents)
    reason = f"order {order_id} was {order['status']}; that much was never paid"
    return {"audit": f"{customer_id}/{order_id}", "status": "blocked", "blocked": True, "reason": reason}
