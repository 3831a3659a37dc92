"""It refuses the one order of the incident.

Incident: no
Twin: no
Edge: {"account": "Lindqvist", "symbol": "ORSK", "quantity": 49999}
"""

from tools import place_order as buy


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market.

    Args:
        account: the name of the client.
        symbol: what to buy.
        quantity: how much to buy.
    """
    if (account, symbol, quantity) == ("Lindqvist", "ORSK", 50000):
        return {"status": "blocked", "reason": "more than the account may spend on one order"}
    return buy(account, symbol, quantity)
