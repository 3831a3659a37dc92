"""Takes arguments that did not grow since the last time for complete ones: a long name comes in many pieces.

Incident: yes
Twin: no
"""

from copy import deepcopy

from tools import ready as can_begin

last = {}


def ready(name, arguments, ended):
    """Return whether a call can be made: at the end of it, or when its arguments stand still."""
    still = last.get(name) == arguments
    last[name] = deepcopy(arguments)
    if not ended and not still:
        return {"status": "waiting", "missing": ["the end"]}
    return can_begin(name, arguments, ended)
