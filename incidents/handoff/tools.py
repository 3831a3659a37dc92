"""What the support agents of a shop can do."""

ORDERS = {
    "7731": {"customer_id": "C-1042", "item": "espresso machine", "status": "cancelled", "paid_cents": 0},
    "7744": {"customer_id": "C-1042", "item": "coffee beans", "status": "delivered", "paid_cents": 3490},
    "7802": {"customer_id": "C-2210", "item": "grinder", "status": "lost", "paid_cents": 18900},
}
given = []


class UnknownOrder(Exception):
    """There is no order with that number."""


def look_up_order(order_id: str) -> dict:
    """Look up an order of the shop.

    Args:
        order_id: its number, four digits.
    """
    if order_id not in ORDERS:
        raise UnknownOrder(f"no order {order_id}")
    return {"order_id": order_id, **ORDERS[order_id]}


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Credit a customer in the shop, to make good for an order.

    Args:
        customer_id: who gets it, such as C-1234.
        order_id: the order that went wrong.
        amount_cents: how much, in cents.
    """
    credit = {"customer_id": customer_id, "order_id": order_id, "amount_cents": amount_cents}
    given.append(credit)
    return {"status": "credited", "number": f"CR-{len(given):04d}", **credit}
