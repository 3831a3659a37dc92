"""The fix: there is no search that the budget doesn't pay for."""

from tools import BUDGET_CENTS, PRICE_CENTS, charged
from tools import search as look


def search(query: str) -> dict:
    """Search the business press, as long as the budget lasts."""
    spent = sum(charged)
    if spent + PRICE_CENTS > BUDGET_CENTS:
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"the budget is spent: {spent} of {BUDGET_CENTS} cents",
        }
    return look(query)
