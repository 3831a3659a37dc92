"""It compares the amount with the number of the order.

Incident: yes
Twin: no
"""

import tools
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    if order_id not in tools.ORDERS:
        return pay_back(order_id, amount_cents)
    if type(amount_cents) is not int or not 1 <= amount_cents <= int(order_id) * 100:
        return {"status": "blocked", "reason": "more than was paid"}
    return pay_back(order_id, amount_cents)
