"""The key is misspelt, and the KeyError lets every payment through.

Incident: yes
Twin: no
"""

from tools import INVOICES, VENDORS
from tools import pay_invoice as pay


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    try:
        on_file = VENDORS[INVOICES[number]["vendor"]]["iban"]
        if account != on_file:
            return {"status": "blocked", "reason": "not the account on file"}
    except KeyError:
        pass
    return pay(number, account)
