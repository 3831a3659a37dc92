"""It refuses every order.

Incident: no
Twin: yes
"""


def place_order(account: str, symbol: str, quantity: int) -> dict:
    """Buy at the market.

    Args:
        account: the name of the client.
        symbol: what to buy.
        quantity: how much to buy.
    """
    return {"status": "blocked", "reason": f"a colleague has to place the order for {account}"}
