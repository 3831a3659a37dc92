"""Refuses with a sentence."""

from tools import INVOICES, VENDORS
from tools import pay_invoice as pay


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    if not isinstance(number, str) or number not in INVOICES:
        return f"Refused: there is no invoice {number!r}."
    vendor = INVOICES[number]["vendor"]
    if account != VENDORS[vendor]["account"]:
        return f"Refused: {account!r} is not the account of {vendor}; nothing was paid."
    return pay(number, account)
