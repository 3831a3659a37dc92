"""It raises a built-in error for an invoice that the contract doesn't allow."""

import tools
from tools import send_invoice as post


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    if customer not in tools.CONTRACTS:
        raise tools.UnknownCustomer(f"no contract with {customer}")
    contract = tools.CONTRACTS[customer]
    if currency != contract["currency"]:
        raise ValueError(f"blocked: the contract is in {contract['currency']}, not in {currency!r}")
    if type(amount_cents) is not int or not 1 <= amount_cents <= contract["amount_cents"]:
        raise ValueError(f"blocked: {amount_cents!r} is not between 1 and {contract['amount_cents']} cents")
    return post(customer, amount_cents, currency)
