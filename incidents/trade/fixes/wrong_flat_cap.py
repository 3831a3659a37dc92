"""It caps the number of shares, whatever they cost.

Incident: no
Twin: no
Edge: {"account": "Lindqvist", "symbol": "ORSK", "quantity": 10000}
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
    if account not in tools.ACCOUNTS or type(quantity) is not int or not 1 <= quantity <= 10_000:
        return {"status": "blocked", "reason": "at most 10,000 shares in one order"}
    return buy(account, symbol, quantity)
