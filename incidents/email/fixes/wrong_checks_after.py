"""The recipients are looked at when the mail is gone, and the answer only warns.

Incident: yes
Twin: no
"""

from tools import DEALS
from tools import send_email as post


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal."""
    sent = post(deal, recipients, subject, body)
    outsiders = [each for each in recipients if each not in DEALS[deal]["insiders"]]
    return {**sent, "warning": f"not on the deal: {outsiders}"} if outsiders else sent
