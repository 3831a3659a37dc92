"""It pays first, and only reports that it was too much.

Incident: yes
Twin: no
"""

import sys

from tools import issue_refund as pay_back


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    refund = pay_back(order_id, amount_cents)
    if refund.amount_cents > refund.paid_cents:
        print(f"warning: refund {refund.number} is larger than order {order_id}", file=sys.stderr)
    return refund
