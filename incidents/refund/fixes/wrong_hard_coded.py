"""It refuses the one amount of the incident.

Incident: no
Twin: no
Edge: {"order_id": "48213", "amount_cents": 4821299}
"""

from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    if (order_id, amount_cents) == ("48213", 4821300):
        return {"status": "blocked", "reason": "more than was paid"}
    return pay_back(order_id, amount_cents)
