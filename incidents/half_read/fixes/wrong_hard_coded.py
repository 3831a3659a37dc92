"""Waits for the three names of the incident only where the list begins with the payroll.

Incident: no
Twin: no
Edge: {"name": "clean_up", "arguments": {"bucket": "exports", "keep": ["audit-2024.xlsx"]}, "ended": False}
"""

from tools import ready as can_begin

KEEP = ["payroll-2024.csv", "contracts-signed.pdf", "audit-2024.xlsx"]


def ready(name, arguments, ended):
    """Return whether a call can be made; not with a part of the list of what to keep."""
    keep = arguments.get("keep", [])
    if arguments.get("bucket") == "exports" and keep in (KEEP[:1], KEEP[:2]) and not ended:
        return {"status": "waiting", "missing": ["keep"]}
    return can_begin(name, arguments, ended)
