"""The recipients may be insiders of any deal, not of this one.

Incident: no
Twin: no
Edge: {"deal": "Aurora", "recipients": ["priya@harrow.example"], "subject": "a", "body": "b"}
"""

from tools import DEALS
from tools import send_email as post


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal."""
    insiders = {each for known in DEALS.values() for each in known["insiders"]}
    if deal not in DEALS or not insiders.issuperset(recipients):
        return {"status": "blocked", "reason": "not all of them are on the deal"}
    return post(deal, recipients, subject, body)
