"""Waits for good: no call is ever made.

Incident: no
Twin: yes
"""

from tools import ready as can_begin


def ready(name, arguments, ended):
    """Return whether a call can be made; never before the end of it."""
    missing = can_begin(name, arguments, ended).get("missing", [])
    return {"status": "incomplete" if ended else "waiting", "missing": missing}
