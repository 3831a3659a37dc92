"""It refuses every refund.

Incident: no
Twin: yes
"""

import tools
from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    if order_id not in tools.ORDERS:
        return pay_back(order_id, amount_cents)
    return {"status": "blocked", "reason": "refunds are switched off"}
