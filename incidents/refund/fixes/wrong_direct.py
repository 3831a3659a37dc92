"""It refuses, and books the whole refund by itself, as one to be looked at.

Incident: yes
Twin: no
"""

import tools
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    if order_id not in tools.ORDERS:
        return pay_back(order_id, amount_cents)
    paid = tools.ORDERS[order_id]["paid_cents"]
    if type(amount_cents) is not int or amount_cents < 1:
        return {"status": "blocked", "reason": "not an amount"}
    if amount_cents > paid:
        tools.refunds.append(tools.Refund(order_id, amount_cents, paid, len(tools.refunds) + 1))
        return {"status": "blocked", "reason": "a colleague looks at it"}
    return pay_back(order_id, amount_cents)
