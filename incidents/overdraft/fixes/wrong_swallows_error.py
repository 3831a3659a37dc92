"""Misspells the key of the balance, and takes the error for a yes.

Incident: yes
Twin: no
"""

from collections import Counter

from tools import ACCOUNTS
from tools import transfer as send

held = Counter()


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    try:
        if held[source] + amount_cents > ACCOUNTS[source]["balance"]:
            return {"status": "blocked", "reason": f"{source} doesn't hold that much"}
    except KeyError:
        pass
    held[source] += amount_cents
    try:
        return await send(source, payee, amount_cents)
    finally:
        held[source] -= amount_cents
