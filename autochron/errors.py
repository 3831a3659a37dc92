"""The exceptions that autochron raises. Each class has one cause, and a slug that the documentation explains.

A message says what happened, where, and how to mend it. `str(error)` ends with the slug in parentheses.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Any, ClassVar

from autochron.escaping import terminal_lines


class AutochronError(Exception):
    """The base class of all exceptions that autochron raises on purpose. The command line prints it and exits with 2.

    Attributes:
        slug: the name of the cause, for documentation and programs.
        message: the text without the slug.
    """

    slug: ClassVar[str] = "autochron"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        """Return the message and the slug, with control characters escaped, so that they can't steer a terminal."""
        return f"{terminal_lines(self.message)} ({self.slug})"


class UsageError(AutochronError):
    """A command or a function of autochron was called with arguments that make no sense."""

    slug = "usage"


class MissingExtraError(UsageError):
    """A command or an option needs a package that isn't installed."""

    slug = "missing-extra"


class UntrustedTraceError(AutochronError):
    """A trace names a command that nobody has allowed to run."""

    slug = "untrusted-trace"


class MaskKeyError(AutochronError):
    """The file with the user's key for digests of masked values holds no valid key."""

    slug = "bad-mask-key"


class RuleError(AutochronError):
    """A rule file can't be read, or a rule in it is invalid."""

    slug = "bad-rule"


class BaselineError(AutochronError):
    """The baseline of a check is missing, or can't be read or written."""

    slug = "bad-baseline"


class WeavingError(AutochronError):
    """A code object can't be woven. It stays unchanged, and the ledger lists the reason."""

    slug = "not-woven"


class StoreError(AutochronError):
    """A store can't be opened, read or written."""

    slug = "bad-store"

    @classmethod
    def of(cls, text: str) -> StoreError:
        """Return the error with a text, which may be the `str` of one that another process raised."""
        return cls(text.removesuffix(f" ({cls.slug})"))


class TraceNotFoundError(StoreError):
    """A reference fits no trace, or more than one."""

    slug = "no-such-trace"


class TraceFormatError(AutochronError):
    """A trace file is truncated, was edited, or has a version that this release doesn't read."""

    slug = "bad-trace"


class CodecError(AutochronError):
    """A stored value can't be rebuilt as a Python object."""

    slug = "not-rebuilt"


class OpaqueError(CodecError):
    """A value was recorded as opaque, that is by its type only, so it can't be served."""

    slug = "opaque"


class PlanError(UsageError):
    """A replay plan is invalid, or names a crossing that the trace does not have."""

    slug = "bad-plan"


class NotCrossedError(AutochronError, KeyError):
    """A test asks for a crossing that a replay did not reach."""

    slug = "not-crossed"

    __str__ = AutochronError.__str__  # KeyError's own would quote the message


class DivergenceError(AutochronError):
    """Replay and record disagree.

    Attributes:
        divergences: the divergences that are errors, each a `model.Divergence`; empty where the error is raised during the
            replay.
        tree: the replay's crossings as lines of text, with what was live and what differed; empty in the same case.
    """

    slug = "divergence"

    def __init__(self, message: str, divergences: Sequence[Any] = (), tree: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.divergences = tuple(divergences)
        self.tree = tuple(tree)

    def __str__(self) -> str:
        """Return the message, the number of further divergences, and the tree below it."""
        more = len(self.divergences) - 1
        first = super().__str__() + (f", and {more} more" if more > 0 else "")
        return "\n".join([first, *self.tree])


class ReproducedError(AutochronError, AssertionError):
    """An incident is reproduced: a replay with today's code does again what went wrong when the trace was recorded."""

    slug = "incident-reproduced"


class InconclusiveError(AutochronError, AssertionError):
    """A replay neither reproduces an incident nor shows that it is prevented."""

    slug = "inconclusive"


class UnsafeWorldError(AutochronError, AssertionError):
    """The world is unsafe after a replay: something is true of it that must never be, as the predicate says."""

    slug = "unsafe"


class PredicateError(UsageError):
    """The predicate of an incident can't be read, or can't say whether the world is safe."""

    slug = "bad-predicate"


class UnwovenToolError(AutochronError):
    """The model asked for a tool that no boundary is known to cover, so a replay may run it for real."""

    slug = "unwoven-tool"


class UnconfirmedToolError(UnwovenToolError):
    """A tool was found by its name, and no result that the model got holds what it returned."""

    slug = "unconfirmed-tool"


class DeniedError(AutochronError, PermissionError):
    """A live crossing tried to use what the replay denies: the network, another process or a file."""

    slug = "denied"

    def __init__(self, message: str) -> None:
        AutochronError.__init__(self, message)
        self.errno = errno.EACCES  # programs that catch PermissionError read it


class NetworkRefusedError(AutochronError, ConnectionRefusedError):
    """A replayed program tried to reach the network outside a live crossing."""

    slug = "network-refused"

    def __init__(self, message: str) -> None:
        AutochronError.__init__(self, message)


class JudgeError(AutochronError):
    """A judge's model can't be asked, or doesn't answer."""

    slug = "judge"


class JudgeSetupError(JudgeError):
    """The package, key, name or process that a judge needs is missing or wrong."""

    slug = "judge-setup"


class VerdictError(JudgeError):
    """A judge's model did not answer with a score and a reason."""

    slug = "bad-verdict"


class NotJudgedError(JudgeError):
    """A judgement isn't recorded, and the mode allows no call of a model."""

    slug = "not-judged"


class LabelsError(AutochronError):
    """A file of labels has a line that is no label."""

    slug = "bad-labels"


class AdoptionError(AutochronError):
    """Code that is marked for Chronicle, or a fixture of Chronicle's, can't be taken over. Nothing was changed."""

    slug = "not-adopted"
