"""The books of a help desk, in a JSON file."""

import json
from pathlib import Path

BOOKS = Path("books.json")


def load():
    return json.loads(BOOKS.read_text())


def save(books):
    BOOKS.write_text(json.dumps(books, indent=1, sort_keys=True))


def lookup(order):
    """Return what was paid for an order, and what was paid back."""
    return load()["orders"][order]


def refund(order, cents):
    """Pay back, and write it down."""
    books = load()
    books["orders"][order]["back"] += cents
    books["log"].append([order, cents])
    save(books)
    return {"status": "paid back", "order": order, "cents": cents}
