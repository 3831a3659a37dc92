"""The fix: what a deal is about goes to its insiders, and to nobody else."""

from tools import DEALS
from tools import send_email as send


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal to those who may know of it."""
    outsiders = [each for each in recipients if each not in DEALS[deal]["insiders"]]
    if outsiders:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"not on the deal {deal}: {', '.join(outsiders)}",
        }
    return send(deal, recipients, subject, body)
