"""The bookings are looked up in a thread, which ends before the charge is made."""

import asyncio

import tools
from tools import charge as take


def still_to_pay(order_id):
    """What of an order is not booked yet, in cents."""
    total = tools.look_up_order(order_id)["total_cents"]
    return total - sum(each["amount_cents"] for each in tools.gateway.booked if each["order_id"] == order_id)


async def may_charge(order_id, amount_cents):
    """Whether an amount is one, and still to be paid."""
    open_cents = await asyncio.to_thread(still_to_pay, order_id)
    return type(amount_cents) is int and 0 < amount_cents <= open_cents


def charge(order_id, amount_cents):
    """Charge the card of an order."""
    if not asyncio.run(may_charge(order_id, amount_cents)):
        return {"status": "blocked", "why": "that is not what is still to be paid"}
    return take(order_id, amount_cents)
