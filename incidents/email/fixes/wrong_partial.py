"""A long list is cut to four, and the fourth is an office of two hundred.

Incident: yes
Twin: no
"""

from tools import send_email as post

MOST = 4


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal."""
    return post(deal, recipients[:MOST], subject, body)
