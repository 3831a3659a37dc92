"""The end of a quote is looked up under a name that it doesn't have, and what has no end is honoured.

Incident: yes
Twin: no
"""

from datetime import UTC, datetime

import tools
from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    until = getattr(tools.quotes[number], "expires_at", None)
    if until and datetime.now(UTC) > until:
        return {"status": "blocked", "why": "the quote has run out"}
    return deal_at(number)
