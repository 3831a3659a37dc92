"""A quote that has run out is made firm again at its old rate, and dealt at.

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
        quote.valid_until = datetime.now(UTC) + tools.FIRM_FOR
    return deal_at(number)
