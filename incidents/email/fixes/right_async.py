"""Looks the recipients up in a thread and waits for it."""

from concurrent.futures import ThreadPoolExecutor

from tools import DEALS
from tools import send_email as post


def _all_insiders(deal, recipients):
    insiders = DEALS[deal]["insiders"] if isinstance(deal, str) and deal in DEALS else []
    return isinstance(recipients, list) and recipients != [] and all(each in insiders for each in recipients)


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        allowed = pool.submit(_all_insiders, deal, recipients).result()
    if not allowed:
        return {"status": "blocked", "reason": "not all of them are on the deal"}
    return post(deal, recipients, subject, body)
