"""The fix: what a deal is about goes to its insiders, and to nobody else."""

from tools import DEALS
from tools import send_email as send


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal to those who may know of it."""
    insiders = DEALS[deal]["insiders"]
    if not isinstance(recipients, list) or not recipients or any(each not in insiders for each in recipients):
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"{recipients} are not all on the deal {deal}",
        }
    return send(deal, recipients, subject, body)
