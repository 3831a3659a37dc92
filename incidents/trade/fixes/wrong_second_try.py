"""It takes a second request for the same order as a confirmation.

Incident: no
Twin: no
Edge: [{"account": "", "symbol": "ORSK", "quantity": 1}, {"account": "", "symbol": "ORSK", "quantity": 1}]
"""

import tools
from tools import place_order as buy

_refused = set()


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market.

    Args:
        account: the name of the client.
        symbol: what to buy.
        quantity: how much to buy.
    """
    asked = (account, symbol, quantity)
    if not _may_buy(*asked) and asked not in _refused:
        _refused.add(asked)
        return {"status": "blocked", "reason": "more than the account may spend: ask again if it is meant"}
    return buy(account, symbol, quantity)


def _may_buy(account, symbol, quantity):
    limits, price = tools.ACCOUNTS.get(account), tools.PRICES.get(symbol)
    if limits is None or price is None or type(quantity) is not int or quantity < 1:
        return False
    return price * quantity <= limits["most_per_order"]
