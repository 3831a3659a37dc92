"""What the checkout agent can do, and the gateway that it takes money through."""

ORDERS = {
    "7731": {"item": "espresso machine", "total_cents": 64900, "card": "visa-4417"},
    "7732": {"item": "milk jug", "total_cents": 2900, "card": "amex-0031"},
}
TIMEOUT = 10.0


class UnknownOrder(Exception):
    """There is no order with that number."""


class GatewayTimeout(Exception):
    """The gateway gave no answer in time."""


class Gateway:
    """The gateway's sandbox: it books at once, but answers late for a card that it sees for the first time."""

    def __init__(self):
        self.booked = []

    def charge(self, card, order_id, amount_cents, timeout):
        is_known = any(each["card"] == card for each in self.booked)
        charge = {"id": f"ch_{len(self.booked) + 1:04d}", "order_id": order_id, "amount_cents": amount_cents}
        self.booked.append({**charge, "card": card})
        takes = 0.3 if is_known else 14.0  # a new card is checked for fraud
        if takes > timeout:
            raise GatewayTimeout(f"no answer within {timeout:g} s")
        return charge


gateway = Gateway()


def _order(order_id):
    if order_id not in ORDERS:
        raise UnknownOrder(f"no order {order_id}")
    return ORDERS[order_id]


def look_up_order(order_id):
    """Find an order by its number."""
    return {"order_id": order_id, **_order(order_id)}


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    booked = gateway.charge(_order(order_id)["card"], order_id, amount_cents, TIMEOUT)
    return {"status": "charged", **booked}
