"""The fix after an edit that has nothing to do with it: other words, and a field for the log."""

from tools import ready as decide


def ready(name, arguments, ended):
    """Return whether a call can be made."""
    keep = arguments.get("keep", [])
    if ended is True and isinstance(keep, list) and not [each for each in keep if not isinstance(each, str)]:
        return decide(name, arguments, ended)
    reason = "the model has not come to the end of this call"
    return {"so_far": sorted(arguments), "status": "blocked", "blocked": True, "reason": reason}
