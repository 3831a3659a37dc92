"""The seconds of a negative time are positive, so that a quote that has run out seems to have hours left.

Incident: yes
Twin: no
"""

from datetime import UTC, datetime

import tools
from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    left = tools.quotes[number].valid_until - datetime.now(UTC)
    if left.seconds <= 0 and left.microseconds <= 0:
        return {"status": "blocked", "why": "the quote has run out"}
    return deal_at(number)
