"""A refusal says what is refused, and since when, in words of its own."""

from datetime import UTC, datetime

import tools
from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    quote = tools.quotes.get(number) if isinstance(number, str) else None
    if quote is None:
        return {"status": "unknown", "refused": f"no quote {number!r} was given"}
    if type(quote.amount) is not int or quote.amount < 1:
        return {"status": "void", "refused": "the amount is none that can be dealt"}
    if quote.valid_until < datetime.now(UTC):
        return {"status": "lapsed", "refused": "ask for another one", "since": quote.valid_until.isoformat()}
    return deal_at(number)
