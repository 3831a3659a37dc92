"""Without a number the last quote is meant, and that one isn't checked.

Incident: no
Twin: no
Edge: [("request_quote", {"currency": "USD", "amount": 5}), ("wait", 2.5), {"number": ""}]
"""

from datetime import UTC, datetime

import tools
from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    if number and datetime.now(UTC) > tools.quotes[number].valid_until:
        return {"status": "blocked", "why": "the quote has run out"}
    return deal_at(number or list(tools.quotes)[-1])
