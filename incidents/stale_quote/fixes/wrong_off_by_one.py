"""A quote is honoured for one second more than it is firm.

Incident: no
Twin: no
Edge: [("request_quote", {"currency": "USD", "amount": 5}), ("wait", 2.5), {"number": "Q-001"}]
"""

from datetime import UTC, datetime, timedelta

import tools
from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    if datetime.now(UTC) > tools.quotes[number].valid_until + timedelta(seconds=1):
        return {"status": "blocked", "why": "the quote has run out"}
    return deal_at(number)
