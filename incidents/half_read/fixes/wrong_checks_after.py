"""Lets the call begin, and only reports that it was early.

Incident: yes
Twin: no
"""

from tools import ready as can_begin

early = []


def ready(name, arguments, ended):
    """Return whether a call can be made, and note down those that come before their end."""
    answer = can_begin(name, arguments, ended)
    if answer["status"] == "ready" and not ended:
        early.append(name)
        return {**answer, "warning": f"{name} begins before its end"}
    return answer
