"""A class keeps the budget, and lets one search at a time look at it."""

from threading import Lock

import tools
from tools import search as look_for


class Budget:
    """What may be spent, and what was."""

    def __init__(self, cents):
        self.cents = cents
        self.lock = Lock()

    def objection(self, query):
        """Why a search may not be made; None if it may."""
        if not isinstance(query, str) or not query.strip():
            return "there is no query"
        if self.cents - sum(tools.charged) < tools.PRICE_CENTS:
            return "the budget is spent"
        return None


budget = Budget(tools.BUDGET_CENTS)


def search(query: str) -> dict:
    """Search the business press. Each search is charged to the budget of the project.

    Args:
        query: what to look for, a few words.
    """
    with budget.lock:
        why = budget.objection(query)
        if why:
            return {"status": "blocked", "why": why, "spent_cents": sum(tools.charged)}
        return look_for(query)
