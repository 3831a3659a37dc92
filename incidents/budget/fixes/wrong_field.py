"""The number of searches is compared with the budget, which is in cents.

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
    if len(tools.charged) >= tools.BUDGET_CENTS:
        return {"status": "blocked", "why": "the budget is spent", "spent_cents": sum(tools.charged)}
    return look_for(query)
