"""What the support agent can do."""

from dataclasses import dataclass

ORDERS = {
    "48213": {"item": "stoneware mug, set of two", "paid_cents": 3990, "email": "mara@example.com"},
    "50117": {"item": "linen apron", "paid_cents": 2450, "email": "jonas@example.com"},
}
refunds = []
outbox = []


class UnknownOrder(Exception):
    """There is no order with that number."""


@dataclass
class Refund:
    order_id: str
    amount_cents: int
    paid_cents: int
    number: int


def _order(order_id):
    if order_id not in ORDERS:
        raise UnknownOrder(f"no order {order_id}")
    return ORDERS[order_id]


def look_up_order(order_id):
    """Find an order by its number."""
    return {"order_id": order_id, **_order(order_id)}


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    order = _order(order_id)
    refund = Refund(order_id, amount_cents, order["paid_cents"], number=len(refunds) + 1)
    refunds.append(refund)
    return refund


def send_reply(order_id, text):
    """Send a mail to the customer of an order."""
    mail = (_order(order_id)["email"], text)
    outbox.append(mail)
    return {"sent": True, "to": mail[0]}
