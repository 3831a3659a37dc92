"""The hotel at the sea."""

from tests.agents.footprint import left


def find_room(beds):
    left("find_room")
    return f"number {beds}04, above the harbour"
