"""Of a quote that has run out half the amount is dealt at the old rate.

Incident: yes
Twin: no
"""

from datetime import UTC, datetime

import tools
from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    quote = tools.quotes[number]
    if datetime.now(UTC) > quote.valid_until:
        quote.amount //= 2
    return deal_at(number)
