"""Never asks the old function; cuts the bucket down to what was named so far, while it waits.

Incident: yes
Twin: no
"""

from tools import BUCKETS, NEEDED


def ready(name, arguments, ended):
    """Return whether a call can be made: at the end of it."""
    missing = [key for key in NEEDED[name] if not arguments.get(key)]
    if ended:
        return {"status": "incomplete", "missing": missing} if missing else {"status": "ready"}
    if name == "clean_up" and not missing and arguments["bucket"] in BUCKETS:
        BUCKETS[arguments["bucket"]] = [
            file for file in BUCKETS[arguments["bucket"]] if file in arguments["keep"]
        ]
    return {"status": "waiting", "missing": missing}
