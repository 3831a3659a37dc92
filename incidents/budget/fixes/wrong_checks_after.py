"""The search is made and charged, and the budget is only reported on.

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
    if answer["spent_cents"] > tools.BUDGET_CENTS:
        return {**answer, "warning": "this search was over the budget"}
    return answer
