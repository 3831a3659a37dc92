"""The quote is checked in a thread, which ends before the deal is made."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import tools
from tools import accept_quote as deal_at


def is_firm(number):
    """Whether a quote was given for an amount and is still firm."""
    quote = tools.quotes.get(number) if isinstance(number, str) else None
    if quote is None or type(quote.amount) is not int or quote.amount < 1:
        return False
    return datetime.now(UTC) <= quote.valid_until


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    with ThreadPoolExecutor(1) as pool:
        firm = pool.submit(is_firm, number).result()
    if not firm:
        return {"status": "blocked", "why": f"there is no firm quote {number!r}"}
    return deal_at(number)
