"""The search of the research agent: each one costs money."""

PRICE_CENTS = 40
BUDGET_CENTS = 200
PAGES = {
    "Voltara (Poland)": "cells 21700, up to 15,000 a month, lead time 14 weeks",
    "Nordzelle (Sweden)": "cells 21700 and 18650, capacity on request, UN 38.3 tested",
    "Celda Norte (Spain)": "prismatic cells only, from 50,000 a month",
    "Trade fair report": "several European makers of cells expect capacity to grow by spring",
    "Price index": "a cell of 5 Ah costs 2.10 to 2.90 euros from 10,000 on, delivery extra",
}
charged = []


def search(query: str) -> dict:
    """Search the business press. Each search is charged to the budget of the project.

    Args:
        query: what to look for, a few words.
    """
    charged.append(PRICE_CENTS)
    words = query.lower().replace(",", "").split()
    hits = {
        name: page for name, page in PAGES.items() if any(word in f"{name} {page}".lower() for word in words)
    }
    return {"status": "found" if hits else "nothing", "hits": hits, "spent_cents": sum(charged)}
