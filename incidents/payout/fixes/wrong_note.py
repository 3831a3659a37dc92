"""An account is refused if the note names it, and any other passes.

Incident: no
Twin: no
Edge: {"number": "KP-2041", "account": "FR7630006000011234567890189"}
"""

from tools import INVOICES
from tools import pay_invoice as pay


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    if account in INVOICES[number]["note"]:
        return {"status": "blocked", "reason": "not the account on file"}
    return pay(number, account)
