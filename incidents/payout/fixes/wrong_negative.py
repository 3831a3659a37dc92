"""Only texts are compared, so True is paid to as if it were an account.

Incident: no
Twin: no
Edge: {"number": "KP-2041", "account": True}
"""

from tools import INVOICES, VENDORS
from tools import pay_invoice as pay


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    on_file = VENDORS[INVOICES[number]["vendor"]]["account"]
    if isinstance(account, str) and account != on_file:
        return {"status": "blocked", "reason": "not the account on file"}
    return pay(number, account)
