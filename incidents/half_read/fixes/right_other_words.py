"""Says that the model is still writing, in other words than the old function has."""

from tools import ready as can_begin


def ready(name, arguments, ended):
    """Return whether a call can be made: at the end of it."""
    if ended is not True:
        return {"status": "not yet", "why": f"the model is still writing {name}"}
    keep = arguments.get("keep")
    listed = isinstance(keep, list) and all(isinstance(file, str) and file for file in keep)
    if name == "clean_up" and not listed:
        return {"status": "refused", "why": "what to keep must be a list of names"}
    return can_begin(name, arguments, ended)
