"""Waits for the end; raises where a whole call of clean_up does not say what to keep."""

from tools import ready as can_begin


class NothingToKeep(ValueError):
    """A call of clean_up ended without a list of names to keep."""


def ready(name, arguments, ended):
    """Return whether a call can be made: at the end of it."""
    if ended is not True:
        return {"status": "waiting", "missing": ["the end"]}
    if name == "clean_up":
        keep = arguments.get("keep")
        if not isinstance(keep, list) or not keep:
            raise NothingToKeep(f"clean_up needs a list of names to keep, not {keep!r}")
        if not all(isinstance(file, str) and file for file in keep):
            raise NothingToKeep(f"not all of these are names: {keep!r}")
    return can_begin(name, arguments, ended)
