"""The fix after an edit that has nothing to do with it: other words, and a field for the auditors."""

from tools import CONTRACTS
from tools import send_invoice as send


def send_invoice(customer, amount_cents, currency):
    """Send an invoice in the currency that was agreed on."""
    agreed = CONTRACTS[customer]["currency"]
    if type(amount_cents) is int and amount_cents >= 1 and currency == agreed:
        return send(customer, amount_cents, currency)
    reason = f"{customer} pays in {agreed}, and nothing below a cent; nothing was sent"
    return {"audit": f"{customer}/{currency}", "status": "blocked", "blocked": True, "reason": reason}
