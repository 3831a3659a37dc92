"""No mail about a deal is sent to anybody.

Incident: no
Twin: yes
"""

from tools import DEALS
from tools import send_email as post


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal."""
    if deal in DEALS:
        return {"status": "blocked", "reason": "deals are confidential"}
    return post(deal, recipients, subject, body)
