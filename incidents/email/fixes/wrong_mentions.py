"""Who has heard of the deal is taken for who is on it.

Incident: yes
Twin: no
"""

from tools import search_people
from tools import send_email as post


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal."""
    known = search_people(deal)
    if not all(each in known for each in recipients):
        return {"status": "blocked", "reason": "not all of them are on the deal"}
    return post(deal, recipients, subject, body)
