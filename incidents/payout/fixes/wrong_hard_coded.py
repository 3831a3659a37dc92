"""Only the incident's own invoice and account are refused.

Incident: no
Twin: no
Edge: {"number": "OS-118", "account": "GB33BUKB20201555555555"}
"""

from tools import pay_invoice as pay


def pay_invoice(number, account):
    """Pay what an invoice is over to an account."""
    if (number, account) == ("KP-2041", "GB33BUKB20201555555555"):
        return {"status": "blocked", "reason": "not the account on file"}
    return pay(number, account)
