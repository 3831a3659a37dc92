"""A helper says how many shares an account may buy."""

import tools
from tools import place_order as buy


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market.

    Args:
        account: the name of the client.
        symbol: what to buy.
        quantity: how much to buy.
    """
    most = most_shares(account, symbol)
    if isinstance(quantity, bool) or not isinstance(quantity, int) or not 0 < quantity <= most:
        return {"status": "blocked", "reason": f"{account} may buy {most} of {symbol}"}
    return buy(account, symbol, quantity)


def most_shares(account, symbol):
    """Return how many shares an account may buy in one order; 0 if it is unknown, or the share is."""
    if account not in tools.ACCOUNTS or symbol not in tools.PRICES:
        return 0
    limits = tools.ACCOUNTS[account]
    spent = sum(order["price"] * order["quantity"] for order in tools.orders if order["account"] == account)
    return int(min(limits["most_per_order"], limits["cash"] - spent) // tools.PRICES[symbol])
