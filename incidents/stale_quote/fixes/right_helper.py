"""A helper says what speaks against a quote; the deal is made if nothing does."""

from datetime import UTC, datetime

import tools
from tools import accept_quote as deal_at


def objection(number, now):
    """Why a quote may not be accepted at a time; None if it may."""
    if not isinstance(number, str) or number not in tools.quotes:
        return "there is no such quote"
    quote = tools.quotes[number]
    if type(quote.amount) is not int or quote.amount < 1:
        return "the quote is for no amount"
    if now > quote.valid_until:
        return f"the quote has run out {(now - quote.valid_until).total_seconds():.1f} seconds ago"
    return None


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    why = objection(number, datetime.now(UTC))
    if why:
        return {"status": "blocked", "why": why}
    return deal_at(number)
