"""The fix after an edit that has nothing to do with it: other words, and a field for the auditors."""

from tools import ORDERS
from tools import give_credit as give


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Give a customer credit for what was paid."""
    order = ORDERS[order_id]
    if amount_cents <= order["paid_cents"]:
        return give(customer_id, order_id, amount_cents)
    reason = f"order {order_id} was {order['status']}; that much was never paid"
    return {"audit": f"{customer_id}/{order_id}", "status": "blocked", "blocked": True, "reason": reason}
