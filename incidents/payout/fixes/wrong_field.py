"""The account may be on file for any vendor, not for the invoice's.

Incident: no
Twin: no
Edge: {"number": "KP-2041", "account": "CZ6508000000192000145399"}
"""

from tools import VENDORS
from tools import pay_invoice as pay


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    if account not in [vendor["account"] for vendor in VENDORS.values()]:
        return {"status": "blocked", "reason": "not the account on file"}
    return pay(number, account)
