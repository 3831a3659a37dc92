"""The fix after an edit that has nothing to do with it: other words, and a field for the log."""

from tools import ready as decide


def ready(name, arguments, ended):
    """Tell whether a call can be made."""
    if ended:
        return decide(name, arguments, ended)
    reason = "the model has not come to the end of this call"
    return {"so_far": sorted(arguments), "status": "blocked", "blocked": True, "reason": reason}
