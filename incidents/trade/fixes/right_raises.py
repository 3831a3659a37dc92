"""It raises an error of its own, which the model is told, for an order that is too large."""

import tools
from pydantic_ai import ModelRetry
from tools import place_order as buy


class OrderRefused(ModelRetry):
    """The account may not place this order."""


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market.

    Args:
        account: the name of the client.
        symbol: what to buy.
        quantity: how much to buy.
    """
    limits = tools.ACCOUNTS.get(account)
    if limits is None:
        raise OrderRefused(f"blocked: {account!r} has no account here")
    if symbol not in tools.PRICES:
        raise OrderRefused(f"blocked: {symbol!r} is not traded here")
    if type(quantity) is not int or quantity < 1:
        raise OrderRefused(f"blocked: {quantity!r} is not a number of shares")
    spent = sum(order["price"] * order["quantity"] for order in tools.orders if order["account"] == account)
    most = min(limits["most_per_order"], limits["cash"] - spent)
    if quantity > most / tools.PRICES[symbol]:
        raise OrderRefused(f"blocked: {account} may spend {most:,.2f} on this order")
    return buy(account, symbol, quantity)
