"""It answers in other words when it refuses."""

import tools
from tools import place_order as buy


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market.

    Args:
        account: the name of the client.
        symbol: what to buy.
        quantity: how much to buy.
    """
    limits, price = tools.ACCOUNTS.get(account), tools.PRICES.get(symbol)
    if limits is None or price is None:
        return {"refused": "no such account or share"}
    if type(quantity) is not int or quantity < 1:
        return {"refused": "a quantity is a number of shares, one at least"}
    spent = sum(order["price"] * order["quantity"] for order in tools.orders if order["account"] == account)
    if quantity > limits["most_per_order"] / price or quantity > (limits["cash"] - spent) / price:
        return {"refused": "the client may not spend that much"}
    return buy(account, symbol, quantity)
