"""The hotel in the mountains."""

from tests.agents.footprint import left


def find_room(beds):
    left("find_room")
    return f"number {beds}1, below the summit"
