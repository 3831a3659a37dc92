"""The fix: an order is worth no more than the account may spend on one."""

from tools import ACCOUNTS, PRICES
from tools import place_order as buy


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market, for as much as is allowed."""
    notional = PRICES[symbol] * quantity
    most = ACCOUNTS[account]["most_per_order"]
    if notional > most:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"{quantity} {symbol} cost {notional:,.2f}; an order of {account} is {most:,.2f} at most",
        }
    return buy(account, symbol, quantity)
