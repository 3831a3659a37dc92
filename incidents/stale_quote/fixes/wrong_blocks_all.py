"""No quote is honoured, not even one that is still firm.

Incident: no
Twin: yes
"""


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    return {"status": "blocked", "why": "the quote has run out"}
