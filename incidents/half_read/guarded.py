"""The fix: no call is made before the model has written the end of it, and none without a list of what to keep."""

from tools import ready as decide


def ready(name, arguments, ended):
    """Return whether a call can be made."""
    keep = arguments.get("keep", [])
    if ended is not True or not isinstance(keep, list) or not all(isinstance(each, str) for each in keep):
        return {"status": "blocked", "blocked": True, "reason": f"{name} is still being written"}
    return decide(name, arguments, ended)
