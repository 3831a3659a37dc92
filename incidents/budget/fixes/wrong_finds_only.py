"""Only the searches that found something count, though each one is charged.

Incident: no
Twin: no
Edge: [{"query": "?"}, {"query": "?"}, {"query": "?"}, {"query": "?"}, {"query": "?"}, {"query": "?"}]
"""

import tools
from tools import search as look_for

found = []


def search(query: str) -> dict:
    """Search the business press. Each search is charged to the budget of the project.

    Args:
        query: what to look for, a few words.
    """
    if (len(found) + 1) * tools.PRICE_CENTS > tools.BUDGET_CENTS:
        return {"status": "blocked", "why": "the budget is spent", "spent_cents": sum(tools.charged)}
    answer = look_for(query)
    if answer["hits"]:
        found.append(query)
    return answer
