"""A search that the budget does not pay for, or that asks nothing, raises."""

import tools
from tools import search as look_for


class OverBudget(Exception):
    """The budget of the project does not pay for another search."""


def search(query: str) -> dict:
    """Search the business press. Each search is charged to the budget of the project.

    Args:
        query: what to look for, a few words.
    """
    if not isinstance(query, str) or not query.strip():
        raise ValueError("a search needs a query")
    if sum(tools.charged) + tools.PRICE_CENTS > tools.BUDGET_CENTS:
        raise OverBudget(f"{sum(tools.charged)} of {tools.BUDGET_CENTS} cents are spent")
    return look_for(query)
