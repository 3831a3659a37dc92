"""How much a command says: the state of `-q` and `-v`, which mean the same for every command.

With `-q` a command writes what was asked for, and errors: no progress, no notes, no advice. With `-v` it says in addition
which Python, rules and store it uses, leaves nothing out of its report, and shows the traceback of an error of ours.
"""

from __future__ import annotations

import sys

QUIET_TEXT = "write only what was asked for, and errors: no progress, no notes, no advice"
VERBOSE_TEXT = "also say which rules and store are used, shorten nothing, and show the traceback of an error"


class Verbosity:
    """How much the command of this process says.

    Attributes:
        quiet: whether `-q` was given.
        verbose: whether `-v` was given.
    """

    def __init__(self) -> None:
        self.set(quiet=False, verbose=False)

    def set(self, *, quiet: bool, verbose: bool) -> None:
        """Set what the options say."""
        self.quiet, self.verbose = quiet, verbose


VERBOSITY = Verbosity()
"""That of this process's command."""


def note(text: str) -> None:
    """Write a line to standard error, unless `-q` was given."""
    if not VERBOSITY.quiet:
        sys.stderr.write(f"autochron: {text}\n")


def describe(rules: str | None, store: str | None) -> None:
    """With `-v`, write which Python, rules and store are used."""
    if not VERBOSITY.verbose:
        return
    from autochron import __version__  # lazy: for -v alone
    from autochron.config import default_store, find_rule_file

    file = rules or find_rule_file()
    version = ".".join(map(str, sys.version_info[:3]))
    for line in (
        f"autochron {__version__}, Python {version} ({sys.executable})",
        f"rules: {file or 'none; every shipped pack whose library is imported is in force'}",
        f"store: {store or default_store(file)}",
    ):
        sys.stderr.write(f"autochron: {line}\n")
