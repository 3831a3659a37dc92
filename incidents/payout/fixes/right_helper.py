"""A helper compares the account with the one on file."""

from tools import INVOICES, VENDORS
from tools import pay_invoice as pay


def _is_on_file(number, account):
    if not isinstance(number, str) or not isinstance(account, str) or number not in INVOICES:
        return False
    return VENDORS[INVOICES[number]["vendor"]]["account"] == account


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    if not _is_on_file(number, account):
        return {"status": "blocked", "reason": "not the account on file"}
    return pay(number, account)
