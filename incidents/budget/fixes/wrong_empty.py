"""An empty query is taken to cost nothing, and is charged over the budget.

Incident: no
Twin: no
Edge: [{"query": "a"}, {"query": "a"}, {"query": "a"}, {"query": "a"}, {"query": "a"}, {"query": ""}]
"""

import tools
from tools import search as look_for


def search(query: str) -> dict:
    """Search the business press. Each search is charged to the budget of the project.

    Args:
        query: what to look for, a few words.
    """
    if query and sum(tools.charged) + tools.PRICE_CENTS > tools.BUDGET_CENTS:
        return {"status": "blocked", "why": "the budget is spent", "spent_cents": sum(tools.charged)}
    return look_for(query)
