"""Names the outsiders in an answer that has no status."""

from tools import DEALS
from tools import send_email as post


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal."""
    known = DEALS.get(deal) if isinstance(deal, str) else None
    if known is None:
        return {"refused": f"no deal {deal!r}"}
    if not isinstance(recipients, list) or not recipients:
        return {"refused": "a mail needs a list of recipients"}
    outsiders = [each for each in recipients if each not in known["insiders"]]
    if outsiders:
        return {"refused": f"on {deal} are not: {', '.join(map(str, outsiders))}"}
    return post(deal, recipients, subject, body)
