"""The fix after an edit that has nothing to do with it: other words, and a field for the auditors."""

from tools import DEALS
from tools import send_email as send


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal to those who may know of it."""
    insiders = DEALS[deal]["insiders"]
    if isinstance(recipients, list) and recipients and all(each in insiders for each in recipients):
        return send(deal, recipients, subject, body)
    reason = f"somebody on that list is no insider of {deal}; nothing was sent"
    return {"audit": f"{deal}/{len(recipients)}", "status": "blocked", "blocked": True, "reason": reason}
