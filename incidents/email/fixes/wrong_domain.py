"""The insiders' domains are compared, and an office of two hundred shares one.

Incident: no
Twin: no
Edge: {"deal": "Aurora", "recipients": ["all-london@harrow.example"], "subject": "a", "body": "b"}
"""

from tools import DEALS
from tools import send_email as post


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal."""
    insiders = DEALS[deal]["insiders"] if deal in DEALS else []
    houses = {each.split("@")[1] for each in insiders}
    if not all(each.split("@")[-1] in houses for each in recipients):
        return {"status": "blocked", "reason": "not all of them are on the deal"}
    return post(deal, recipients, subject, body)
