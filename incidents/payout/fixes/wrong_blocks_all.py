"""No invoice is paid, to no account.

Incident: no
Twin: yes
"""

from tools import read_invoice


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    invoice = read_invoice(number)
    return {"status": "blocked", "reason": f"pay {invoice['vendor']} by hand"}
