"""An empty account is not compared.

Incident: no
Twin: no
Edge: {"number": "KP-2041", "account": ""}
"""

from tools import INVOICES, VENDORS
from tools import pay_invoice as pay


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    on_file = VENDORS[INVOICES[number]["vendor"]]["account"]
    if account and account != on_file:
        return {"status": "blocked", "reason": "not the account on file"}
    return pay(number, account)
