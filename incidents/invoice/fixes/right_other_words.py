"""It answers with a text when it refuses."""

import tools
from tools import send_invoice as post


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    contract = tools.CONTRACTS.get(customer)
    if contract is None:
        return f"Nothing was sent: {customer} has no contract."
    if currency != contract["currency"]:
        return f"Nothing was sent: {customer} pays in {contract['currency']}."
    if type(amount_cents) is not int or amount_cents < 1 or amount_cents > contract["amount_cents"]:
        return f"Nothing was sent: the contract is over {contract['amount_cents']} cents."
    return post(customer, amount_cents, currency)
