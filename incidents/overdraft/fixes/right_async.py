"""No lock: what is on its way is held back from the balance that the next one sees."""

from collections import Counter

import tools
from tools import transfer as send

held = Counter()  # cents on their way, by account


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    if type(amount_cents) is not int or amount_cents <= 0:
        return {"status": "blocked", "reason": "no amount"}
    free = tools._account(source)["balance_cents"] - held[source]
    if amount_cents > free:
        return {"status": "blocked", "reason": f"{source} has {free} cents that are free"}
    held[source] += amount_cents
    try:
        return await send(source, payee, amount_cents)
    finally:
        held[source] -= amount_cents
