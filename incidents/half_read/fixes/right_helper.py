"""A class knows which calls may begin early: those that only read."""

from dataclasses import dataclass

from tools import ready as can_begin

READS = frozenset({"list_files"})


@dataclass(frozen=True)
class Call:
    """A call of a tool, as far as the model has written it."""

    name: str
    arguments: dict
    ended: bool

    def missing(self):
        """Return what is not there yet."""
        if self.name in READS:
            return []
        if self.ended is not True:
            return ["the end"]
        keep = self.arguments.get("keep")
        listed = isinstance(keep, list) and all(isinstance(file, str) and file for file in keep)
        return [] if listed else ["keep"]


def ready(name, arguments, ended):
    """Return whether a call can be made: at the end of it, or as soon as all is there that a read needs."""
    missing = Call(name, arguments, ended).missing()
    if missing:
        return {"status": "incomplete" if ended else "waiting", "missing": missing}
    return can_begin(name, arguments, ended)
