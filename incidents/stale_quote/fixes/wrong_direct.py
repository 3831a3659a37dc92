"""For a quote that has run out the old tool isn't called, but the deal is written down here.

Incident: yes
Twin: no
"""

from dataclasses import asdict
from datetime import UTC, datetime

import tools
from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    quote = tools.quotes[number]
    now = datetime.now(UTC)
    if now > quote.valid_until:
        tools.deals.append({"status": "late", "dealt_at": now, **asdict(quote)})
        return {"status": "blocked", "why": "the quote has run out"}
    return deal_at(number)
