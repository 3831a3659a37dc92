"""What the agent can do."""

from refunddesk.limits import TooMuchError, check_refund

ORDERS = {
    "A17": {"item": "teapot", "paid_cents": 3990, "refunded_cents": 0},
    "B02": {"item": "lamp", "paid_cents": 12900, "refunded_cents": 2900},
}
payments = []


def find_order(order_id: str) -> dict:
    """Look an order up."""
    return {"order_id": order_id, **ORDERS[order_id]}


def refund(order_id: str, cents: int) -> dict:
    """Pay money back to the customer."""
    order = ORDERS[order_id]
    try:
        check_refund(order, cents)
    except TooMuchError as error:
        return {"status": "refused", "order_id": order_id, "reason": str(error)}
    payments.append({"order_id": order_id, "cents": cents})
    order["refunded_cents"] += cents
    return {"status": "refunded", "order_id": order_id, "cents": cents}
