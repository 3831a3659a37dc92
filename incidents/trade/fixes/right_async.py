"""Its check runs in a thread."""

from threading import Thread

import tools
from tools import place_order as buy


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market.

    Args:
        account: the name of the client.
        symbol: what to buy.
        quantity: how much to buy.
    """
    allowed = []
    check = Thread(target=lambda: allowed.append(_may_buy(account, symbol, quantity)))
    check.start()
    check.join()
    if allowed != [True]:
        return {"status": "blocked", "reason": "not within what the account may spend"}
    return buy(account, symbol, quantity)


def _may_buy(account, symbol, quantity):
    limits, price = tools.ACCOUNTS.get(account), tools.PRICES.get(symbol)
    if limits is None or price is None or type(quantity) is not int or quantity < 1:
        return False
    spent = sum(order["price"] * order["quantity"] for order in tools.orders if order["account"] == account)
    return quantity <= min(limits["most_per_order"], limits["cash"] - spent) / price
