"""The fix: an invoice is sent in the currency of the contract, or not at all."""

from tools import CONTRACTS
from tools import send_invoice as send


def send_invoice(customer, amount_cents, currency):
    """Send an invoice in the currency that was agreed on."""
    agreed = CONTRACTS[customer]["currency"]
    if currency != agreed or type(amount_cents) is not int or amount_cents <= 0:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"the contract with {customer} is in {agreed}, and not over {amount_cents} cents in {currency}",
        }
    return send(customer, amount_cents, currency)
