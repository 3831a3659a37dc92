"""Makes no transfer at all.

Incident: no
Twin: yes
"""

from tools import ACCOUNTS
from tools import transfer as send


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    if ACCOUNTS.get(source) or amount_cents:
        return {"status": "blocked", "reason": "somebody has to approve this"}
    return await send(source, payee, amount_cents)
