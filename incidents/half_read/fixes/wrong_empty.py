"""Waits for the end, and forgets what has to be there: with an empty list everything is deleted.

Incident: no
Twin: no
Edge: {"name": "clean_up", "arguments": {"bucket": "exports", "keep": []}, "ended": True}
"""

from tools import ready as can_begin


def ready(name, arguments, ended):
    """Return whether a call can be made: at the end of it."""
    return {"status": "ready"} if ended else {**can_begin(name, {}, ended), "status": "waiting"}
