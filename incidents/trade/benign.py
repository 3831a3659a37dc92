"""The fix after an edit that has nothing to do with it: other words, and a field for the auditors."""

from tools import ACCOUNTS, PRICES, orders
from tools import place_order as buy


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market, for as much as is allowed."""
    cash = ACCOUNTS[account]["cash"]
    for each in orders:
        if each["account"] == account:
            cash -= each["price"] * each["quantity"]
    most = min(cash, ACCOUNTS[account]["most_per_order"])
    if type(quantity) is int and quantity >= 1 and PRICES[symbol] * quantity <= most:
        return buy(account, symbol, quantity)
    reason = f"more than {most:,} in one order; nothing was bought for {account}"
    return {"audit": f"{account}/{symbol}/{quantity}", "status": "blocked", "blocked": True, "reason": reason}
