"""What the trading agent can do."""

from pydantic_ai import ModelRetry

PRICES = {"ORSK": 412.50, "HELI": 18.20, "NVSK": 96.75}
ACCOUNTS = {
    "Lindqvist": {"cash": 30_000_000, "most_per_order": 100_000},
    "Okafor": {"cash": 45_000, "most_per_order": 10_000},
}
orders = []


def _price(symbol):
    if symbol not in PRICES:
        raise ModelRetry(f"{symbol} is not traded here")
    return PRICES[symbol]


def get_quote(symbol: str) -> dict:
    """Get the price of one share in dollars."""
    return {"symbol": symbol, "price": _price(symbol)}


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market.

    Args:
        account: the name of the client.
        symbol: what to buy.
        quantity: how much to buy.
    """
    order = {"account": account, "symbol": symbol, "quantity": quantity, "price": _price(symbol)}
    orders.append(order)
    return {"status": "filled", "number": f"ORD-{len(orders):04d}", **order}
