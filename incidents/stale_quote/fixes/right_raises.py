"""A quote that has run out, or that was never given, raises."""

from datetime import UTC, datetime

import tools
from tools import accept_quote as deal_at


class QuoteExpired(Exception):
    """The desk no longer deals at that rate."""


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    if not isinstance(number, str) or number not in tools.quotes:
        raise LookupError(f"there is no quote {number!r}")
    quote = tools.quotes[number]
    if type(quote.amount) is not int or quote.amount < 1:
        raise ValueError(f"{quote.amount!r} is no amount to deal")
    if datetime.now(UTC) > quote.valid_until:
        raise QuoteExpired(f"{number} was valid until {quote.valid_until:%H:%M:%S}")
    return deal_at(number)
