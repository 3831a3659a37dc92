"""The deal is made, and only marked as late.

Incident: yes
Twin: no
"""

from tools import accept_quote as deal_at


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    deal = deal_at(number)
    deal["late"] = deal["dealt_at"] > deal["valid_until"]
    return deal
