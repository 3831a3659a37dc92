"""A mail that names no deal is not checked.

Incident: no
Twin: no
Edge: {"deal": "", "recipients": ["m.osei@financial-herald.example"], "subject": "a", "body": "b"}
"""

from tools import DEALS
from tools import send_email as post


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal."""
    if deal and any(each not in DEALS[deal]["insiders"] for each in recipients):
        return {"status": "blocked", "reason": "not all of them are on the deal"}
    return post(deal, recipients, subject, body)
