"""It looks at each refund alone, so that an order can be paid back twice.

Incident: no
Twin: no
Edge: [{"order_id": "48213", "amount_cents": 3990}, {"order_id": "48213", "amount_cents": 3990}]
"""

import tools
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    if order_id not in tools.ORDERS:
        return pay_back(order_id, amount_cents)
    if type(amount_cents) is not int or not 1 <= amount_cents <= tools.ORDERS[order_id]["paid_cents"]:
        return {"status": "blocked", "reason": "more than was paid"}
    return pay_back(order_id, amount_cents)
