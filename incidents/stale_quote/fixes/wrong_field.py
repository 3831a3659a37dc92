"""The rate is compared with the desk's of now, and the time not at all.

Incident: yes
Twin: no
"""

import tools
from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    quote = tools.quotes[number]
    if quote.rate != tools.RATES[quote.currency]:
        return {"status": "blocked", "why": "the rate has changed"}
    return deal_at(number)
