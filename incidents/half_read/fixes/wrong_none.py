"""Waits only where the end is known to be missing: None, where nobody knows, gets past it.

Incident: no
Twin: no
Edge: {"name": "clean_up", "arguments": {"bucket": "exports", "keep": ["payroll-2024.csv"]}, "ended": None}
"""

from tools import ready as can_begin


def ready(name, arguments, ended):
    """Return whether a call can be made; never before the end of it."""
    if ended is False:
        return {"status": "waiting", "missing": ["the end"]}
    return can_begin(name, arguments, ended)
