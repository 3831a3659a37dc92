"""The fix after an edit that has nothing to do with it: other words, and a field for the auditors."""

from tools import ACCOUNTS, PRICES
from tools import place_order as buy


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market, for as much as is allowed."""
    most = ACCOUNTS[account]["most_per_order"]
    if PRICES[symbol] * quantity <= most:
        return buy(account, symbol, quantity)
    reason = f"more than {most:,} in one order; nothing was bought for {account}"
    return {"audit": f"{account}/{symbol}/{quantity}", "status": "blocked", "blocked": True, "reason": reason}
