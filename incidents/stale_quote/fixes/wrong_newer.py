"""Only a newer quote of the same currency ends the one before it; time does not.

Incident: yes
Twin: no
"""

import tools
from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    currency = tools.quotes[number].currency
    newest = max(each for each, quote in tools.quotes.items() if quote.currency == currency)
    if number != newest:
        return {"status": "blocked", "why": f"{newest} is newer"}
    return deal_at(number)
