"""Looks at whether each name is whole, where it should look at whether the list is.

Incident: yes
Twin: no
"""

from tools import BUCKETS
from tools import ready as can_begin


def ready(name, arguments, ended):
    """Return whether a call can be made; not while the model is in the middle of a name."""
    files = BUCKETS.get(arguments.get("bucket"), [])
    if not ended and any(file not in files for file in arguments.get("keep", [])):
        return {"status": "waiting", "missing": ["keep"]}
    return can_begin(name, arguments, ended)
