"""The fix: an order is worth no more than the account may spend on one, and no more than is left of its cash."""

from tools import ACCOUNTS, PRICES, orders
from tools import place_order as buy


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market, for as much as is allowed."""
    notional = PRICES[symbol] * quantity
    left = ACCOUNTS[account]["cash"] - sum(
        o["price"] * o["quantity"] for o in orders if o["account"] == account
    )
    most = min(ACCOUNTS[account]["most_per_order"], left)
    if type(quantity) is not int or quantity <= 0 or notional > most:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"{quantity} {symbol} cost {notional:,.2f}; an order of {account} is {most:,.2f} at most",
        }
    return buy(account, symbol, quantity)
