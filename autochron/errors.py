"""What autochron raises: one class a cause, each with a slug that the documentation explains.

A message says the fact, the place and the remedy; `str(error)` ends with the slug in brackets.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Any, ClassVar

from autochron.escaping import terminal_lines


class AutochronError(Exception):
    """Everything that autochron raises on purpose; the command line prints it as one line and exits with 2."""

    slug: ClassVar[str] = "autochron"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        """Return the message with the slug, with what a terminal would obey made visible."""
        return f"{terminal_lines(self.message)} ({self.slug})"


class UsageError(AutochronError):
    """A command or a call of ours was used in a way that it can't mean."""

    slug = "usage"


class UntrustedTraceError(AutochronError):
    """A trace names a command that nobody said may be run."""

    slug = "untrusted-trace"


class MaskKeyError(AutochronError):
    """The file of the user's key for digests of masked values holds none."""

    slug = "bad-mask-key"


class RuleError(AutochronError):
    """A rule file can't be read or means nothing."""

    slug = "bad-rule"


class WeavingError(AutochronError):
    """A code object can't be woven; it stays as it is and the ledger says why."""

    slug = "not-woven"


class StoreError(AutochronError):
    """A store can't be opened, read or written."""

    slug = "bad-store"

    @classmethod
    def of(cls, text: str) -> StoreError:
        """Return the error of a text, which may be that of one that another process raised."""
        return cls(text.removesuffix(f" ({cls.slug})"))


class TraceNotFoundError(StoreError):
    """No trace, or more than one, fits a reference."""

    slug = "no-such-trace"


class TraceFormatError(AutochronError):
    """A trace file was truncated, changed by hand, or is of a version that this release doesn't read."""

    slug = "bad-trace"


class CodecError(AutochronError):
    """A stored value can't be turned back into a Python object."""

    slug = "not-rebuilt"


class OpaqueError(CodecError):
    """A value was recorded as opaque, so it can't be served."""

    slug = "opaque"


class PlanError(UsageError):
    """A plan names what a trace does not have, or means nothing."""

    slug = "bad-plan"


class NotCrossedError(AutochronError, KeyError):
    """A test asks for a crossing that a replay did not come to."""

    slug = "not-crossed"

    __str__ = AutochronError.__str__  # a KeyError's own would quote it


class DivergenceError(AutochronError):
    """Replay and record disagree.

    Attributes:
        divergences: all that were errors, where a whole replay was judged; `model.Divergence` each.
        tree: the replay's crossings as lines, with what was live and what differed; empty where it is raised inside.
    """

    slug = "divergence"

    def __init__(self, message: str, divergences: Sequence[Any] = (), tree: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.divergences = tuple(divergences)
        self.tree = tuple(tree)

    def __str__(self) -> str:
        """Return the message, and the tree below it."""
        more = len(self.divergences) - 1
        first = super().__str__() + (f", and {more} more" if more > 0 else "")
        return "\n".join([first, *self.tree])


class ReproducedError(AutochronError, AssertionError):
    """What went wrong when a trace was recorded goes wrong again on a replay with new code."""

    slug = "incident-reproduced"


class InconclusiveError(AutochronError, AssertionError):
    """A replay neither reproduces an incident nor gives evidence that it is prevented."""

    slug = "inconclusive"


class UnwovenToolError(AutochronError):
    """The model asked for a tool that no boundary is known to cover, so a replay may run it for real."""

    slug = "unwoven-tool"


class DeniedError(AutochronError, PermissionError):
    """A live crossing reached for what the replay denies."""

    slug = "denied"

    def __init__(self, message: str) -> None:
        AutochronError.__init__(self, message)
        self.errno = errno.EACCES  # as programs ask for it


class NetworkRefusedError(AutochronError, ConnectionRefusedError):
    """A replayed program tried to reach the network outside a live crossing."""

    slug = "network-refused"

    def __init__(self, message: str) -> None:
        AutochronError.__init__(self, message)


class JudgeError(AutochronError):
    """A judge can't be asked, or doesn't answer."""

    slug = "judge"


class JudgeSetupError(JudgeError):
    """A judge's package, key, name or process is missing or wrong."""

    slug = "judge-setup"


class VerdictError(JudgeError):
    """A judge's model answered with something that is no score with a reason."""

    slug = "bad-verdict"


class NotJudgedError(JudgeError):
    """A judgement isn't recorded, and no model may be called."""

    slug = "not-judged"


class LabelsError(AutochronError):
    """A file of labels says something that is no label."""

    slug = "bad-labels"
