"""The search is charged first, and called blocked afterwards.

Incident: yes
Twin: no
"""

import tools
from tools import search as look_for


def search(query: str) -> dict:
    """Search the business press. Each search is charged to the budget of the project.

    Args:
        query: what to look for, a few words.
    """
    answer = look_for(query)
    if sum(tools.charged) > tools.BUDGET_CENTS:
        return {"status": "blocked", "why": "the budget is spent", "spent_cents": sum(tools.charged)}
    return answer
