"""A refusal is a text, in JSON as the graph reads it, with no hits and no sum."""

import json

import tools
from tools import search as look_for


def search(query: str) -> dict | str:
    """Search the business press. Each search is charged to the budget of the project.

    Args:
        query: what to look for, a few words.
    """
    if not isinstance(query, str) or not query.split():
        return json.dumps({"status": "no", "refused": "nothing was asked for"})
    left = tools.BUDGET_CENTS - sum(tools.charged)
    if left < tools.PRICE_CENTS:
        return json.dumps({"status": "no", "refused": f"{left} cents are left, too few for a search"})
    return look_for(query)
