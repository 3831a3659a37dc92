"""The tools of a banking agent."""

BALANCES = {"DE01": 1250_00, "DE02": 80_00, "DE09": 0}
OWNERS = {"DE01": "Zoe", "DE02": "Zoe", "DE09": "Marek"}
transfers = []


def balance(account: str) -> int:
    return BALANCES[account]


def transfer(source: str, target: str, cents: int, memo: str = "") -> dict:
    BALANCES[source] -= cents
    BALANCES[target] += cents
    transfers.append((source, target, cents))
    return {"done": True, "source": source, "target": target, "cents": cents}
