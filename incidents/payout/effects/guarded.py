"""The fix: a vendor is paid to the account that is on file, or not at all."""

from tools import INVOICES, VENDORS
from tools import pay_invoice as pay


def pay_invoice(number, account):
    """Pay what an invoice is over to the vendor's account."""
    vendor = INVOICES[number]["vendor"]
    if account != VENDORS[vendor]["account"]:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"{account} is not the account of {vendor} that is on file",
        }
    return pay(number, account)
