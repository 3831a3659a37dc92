"""A class knows what the contract allows."""

import tools
from tools import send_invoice as post


class Terms:
    """What the contract of a customer allows."""

    def __init__(self, customer):
        """Look the contract up."""
        self.contract = tools.CONTRACTS.get(customer)

    def allow(self, amount_cents, currency):
        """Return whether an invoice is within the contract."""
        if self.contract is None or isinstance(amount_cents, bool) or not isinstance(amount_cents, int):
            return False
        return currency == self.contract["currency"] and 0 < amount_cents <= self.contract["amount_cents"]


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    if Terms(customer).allow(amount_cents, currency):
        return post(customer, amount_cents, currency)
    return {"status": "blocked", "reason": "not what the contract says"}
