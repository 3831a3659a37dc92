"""Knows the sweep of the incident; others that come at once with a payment race as before.

Incident: no
Twin: no
Edge: {"source": "operating", "payee": "Kessler GmbH", "amount_cents": -1}
At once: [
    {"source": "operating", "payee": "savings", "amount_cents": 8399999},
    {"source": "operating", "payee": "Kessler GmbH", "amount_cents": 3150000},
]
"""

from tools import transfer as send


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    if (source, payee, amount_cents) == ("operating", "savings", 8_400_000):
        return {"status": "blocked", "reason": "nothing is left for the invoices"}
    return await send(source, payee, amount_cents)
