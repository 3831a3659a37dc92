"""Raises an error of its own for a mail that would leave the deal's insiders."""

from tools import DEALS
from tools import send_email as post


class NotAnInsider(Exception):
    """A mail about a deal would go to somebody who is not on it."""


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal."""
    insiders = DEALS.get(deal, {}).get("insiders", []) if isinstance(deal, str) else []
    if not isinstance(recipients, list) or not recipients or any(each not in insiders for each in recipients):
        raise NotAnInsider(f"not all of {recipients} are on {deal}")
    return post(deal, recipients, subject, body)
