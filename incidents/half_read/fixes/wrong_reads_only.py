"""Waits with what deletes, at the end of the call too: no bucket is ever cleaned up.

Incident: no
Twin: yes
"""

from tools import ready as can_begin


def ready(name, arguments, ended):
    """Return whether a call can be made; what deletes must not begin early."""
    if name == "clean_up":
        return {"status": "waiting", "missing": ["the end"]}
    return can_begin(name, arguments, ended)
