"""A new account is put on file first, and then compared with itself.

Incident: yes
Twin: no
"""

from tools import INVOICES, VENDORS
from tools import pay_invoice as pay


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    vendor = VENDORS[INVOICES[number]["vendor"]]
    vendor.update(account=account)
    if account != vendor["account"]:
        return {"status": "blocked", "reason": "not the account on file"}
    return pay(number, account)
