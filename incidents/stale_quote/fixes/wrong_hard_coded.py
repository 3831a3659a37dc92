"""Only the second quote is ever found to have run out.

Incident: no
Twin: no
Edge: [("request_quote", {"currency": "USD", "amount": 5}), ("wait", 2.5), {"number": "Q-001"}]
"""

from datetime import UTC, datetime

import tools
from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    if number == "Q-002" and datetime.now(UTC) > tools.quotes[number].valid_until:
        return {"status": "blocked", "why": "the quote has run out"}
    return deal_at(number)
