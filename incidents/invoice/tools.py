"""What the billing agent can do."""

CONTRACTS = {
    "Nordlicht GmbH": {"amount_cents": 200_000_000, "currency": "EUR", "period": "yearly"},
    "Blue Harbor Inc": {"amount_cents": 4_800_000, "currency": "USD", "period": "quarterly"},
}
sent = []


class UnknownCustomer(Exception):
    """There is no contract with that customer."""


def look_up_contract(customer):
    """Find the contract of a customer."""
    if customer not in CONTRACTS:
        raise UnknownCustomer(f"no contract with {customer}")
    return {"customer": customer, **CONTRACTS[customer]}


def send_invoice(customer, amount_cents, currency):
    """Send an invoice."""
    invoice = {"customer": customer, "amount_cents": amount_cents, "currency": currency}
    sent.append(invoice)
    return {"status": "sent", "number": f"INV-{len(sent):04d}", **invoice}
