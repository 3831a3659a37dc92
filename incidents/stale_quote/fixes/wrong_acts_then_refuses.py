"""The deal is made first, and called blocked afterwards.

Incident: yes
Twin: no
"""

from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    deal = deal_at(number)
    if deal["dealt_at"] > deal["valid_until"]:
        return {"status": "blocked", "why": "the quote has run out"}
    return deal
