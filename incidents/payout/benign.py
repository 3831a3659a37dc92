"""The fix after an edit that has nothing to do with it: other words, and a field for the auditors."""

from tools import INVOICES, VENDORS
from tools import pay_invoice as pay


def pay_invoice(number, account):
    """Pay what an invoice is over to the vendor's account."""
    on_file = VENDORS[INVOICES[number]["vendor"]]["account"]
    if account == on_file:
        return pay(number, account)
    reason = f"{number} can only be paid to the account ending in {on_file[-4:]}; nothing was paid"
    return {"audit": f"{number}/{account}", "status": "blocked", "blocked": True, "reason": reason}
