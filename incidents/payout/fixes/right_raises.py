"""Raises an error of its own for an account that is not on file."""

from tools import INVOICES, VENDORS
from tools import pay_invoice as pay


class NotOnFile(ValueError):
    """An invoice would be paid to an account that its vendor has not got."""


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    invoice = INVOICES.get(number) if isinstance(number, str) else None
    if invoice is None or account != VENDORS[invoice["vendor"]]["account"]:
        raise NotOnFile(f"{account!r} is not on file for invoice {number!r}")
    return pay(number, account)
