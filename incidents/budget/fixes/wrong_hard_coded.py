"""Only the queries that were one too many that day are refused; any other one is charged without end.

Incident: no
Twin: no
Edge: [{"query": "a"}, {"query": "a"}, {"query": "a"}, {"query": "a"}, {"query": "a"}, {"query": "a"}]
"""

import tools
from tools import search as look_for

TOO_MANY = {
    "price of 21700 cells",
    "Voltara expansion capacity",
    "Nordzelle orders March",
    "cells capacity spring",
    "Voltara price 10,000 cells",
    "Nordzelle price",
    "delivery of cells from Sweden",
    "Voltara second line cells",
}


def search(query: str) -> dict:
    """Search the business press. Each search is charged to the budget of the project.

    Args:
        query: what to look for, a few words.
    """
    if query in TOO_MANY:
        return {"status": "blocked", "why": "the budget is spent", "spent_cents": sum(tools.charged)}
    return look_for(query)
