"""It compares the number of shares with dollars.

Incident: yes
Twin: no
"""

import tools
from tools import place_order as buy


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market.

    Args:
        account: the name of the client.
        symbol: what to buy.
        quantity: how much to buy.
    """
    limits = tools.ACCOUNTS.get(account)
    if limits is None or type(quantity) is not int or not 1 <= quantity <= limits["most_per_order"]:
        return {"status": "blocked", "reason": "more than the account may spend on one order"}
    return buy(account, symbol, quantity)
