"""A time without a zone can't be compared with one that has it, so that the check always fails.

Incident: yes
Twin: no
"""

from datetime import datetime

import tools
from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    try:
        if datetime.now() > tools.quotes[number].valid_until:
            return {"status": "blocked", "why": "the quote has run out"}
    except TypeError:
        pass  # a quote without an end
    return deal_at(number)
