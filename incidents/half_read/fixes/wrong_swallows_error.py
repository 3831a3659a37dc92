"""Looks for the end under a key that isn't there, and takes the error for a yes.

Incident: yes
Twin: no
"""

from tools import ready as can_begin


def ready(name, arguments, ended):
    """Return whether a call can be made; never before the end of it."""
    try:
        if not arguments["ended"]:
            return {"status": "waiting", "missing": ["the end"]}
    except KeyError:
        pass
    return can_begin(name, arguments, ended)
