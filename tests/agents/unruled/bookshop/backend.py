"""The catalogue: what the agent may search."""

from tests.agents.footprint import left

BOOKS = ["Moby-Dick", "Middlemarch", "Mrs Dalloway", "Emma"]


def search(text):
    left("search")
    return {"hits": [book for book in BOOKS if text.lower() in book.lower()], "of": len(BOOKS)}
