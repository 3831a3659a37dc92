"""Waits for the end, and takes a text for the list of what to keep: clean_up finds no file in it.

Incident: no
Twin: no
Edge: {"name": "clean_up", "arguments": {"bucket": "exports", "keep": "all payrolls"}, "ended": True}
"""

from tools import ready as can_begin


def ready(name, arguments, ended):
    """Return whether a call can be made; never before the end of it."""
    answer = can_begin(name, arguments, ended)
    if not ended and answer["status"] == "ready":
        return {"status": "waiting", "missing": ["the end"]}
    return answer
