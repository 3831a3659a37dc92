"""Checks in a coroutine, which has a loop of its own in a thread."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import tools
from tools import give_credit as pay_credit

LOCK = threading.Lock()  # the SDK calls tools in threads


async def _objection(customer_id, order_id, amount_cents):
    await asyncio.sleep(0)
    order = tools.ORDERS.get(order_id)
    if order is None or order["customer_id"] != customer_id:
        return "the customer has no such order"
    if type(amount_cents) is not int or amount_cents < 1:
        return "no amount"
    before = sum(credit["amount_cents"] for credit in tools.given if credit["order_id"] == order_id)
    return "more than was paid" if before + amount_cents > order["paid_cents"] else None


def give_credit(customer_id: str, order_id: str, amount_cents: int) -> dict:
    """Credit a customer in the shop, to make good for an order.

    Args:
        customer_id: who gets it, such as C-1234.
        order_id: the order that went wrong.
        amount_cents: how much, in cents.
    """
    with LOCK, ThreadPoolExecutor(1) as pool:
        reason = pool.submit(lambda: asyncio.run(_objection(customer_id, order_id, amount_cents))).result()
        if reason:
            return {"status": "blocked", "reason": reason}
        return pay_credit(customer_id, order_id, amount_cents)
