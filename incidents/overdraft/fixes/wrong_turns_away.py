"""Turns a transfer away while another one is on its way, though the account covers both.

Incident: no
Twin: yes
"""

from tools import transfer as send

under_way = set()


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee, if the account covers it."""
    if source in under_way or type(amount_cents) is not int or amount_cents <= 0:
        return {"status": "blocked", "reason": f"{source} is busy"}
    under_way.add(source)
    try:
        return await send(source, payee, amount_cents)
    finally:
        under_way.discard(source)
