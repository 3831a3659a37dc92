"""The fix: a quote is dealt at while it is firm, and not after."""

from datetime import UTC, datetime

from tools import accept_quote as deal
from tools import quotes


def accept_quote(number):
    """Deal at the rate of a quote that is still valid."""
    quote = quotes[number]
    if datetime.now(UTC) > quote.valid_until:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"{number} was valid until {quote.valid_until:%H:%M:%S}; ask for another",
        }
    return deal(number)
