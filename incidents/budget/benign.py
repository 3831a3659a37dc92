"""The fix after an edit that has nothing to do with it: other words, and a field for the accounts."""

from tools import BUDGET_CENTS, PRICE_CENTS, charged
from tools import search as look


def search(query: str) -> dict:
    """Search the business press, as long as the budget lasts."""
    left = BUDGET_CENTS - sum(charged)
    if left >= PRICE_CENTS:
        return look(query)
    reason = f"a search costs {PRICE_CENTS} cents, and {left} are left"
    return {"searches": len(charged), "status": "blocked", "blocked": True, "reason": reason}
