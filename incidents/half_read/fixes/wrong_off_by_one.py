"""Waits for a second name in the list, though a third may come.

Incident: yes
Twin: no
"""

from tools import ready as can_begin


def ready(name, arguments, ended):
    """Return whether a call can be made; not with the first name of a list alone."""
    if not ended and name == "clean_up" and len(arguments.get("keep", [])) <= 1:
        return {"status": "waiting", "missing": ["keep"]}
    return can_begin(name, arguments, ended)
