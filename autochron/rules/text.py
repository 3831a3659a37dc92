"""The text of a rule file, with refusals that name file and line."""

# os.path, not pathlib: this runs at the start of every recorded program, and pathlib costs 3 ms there.

from __future__ import annotations

from autochron._runtime.unpatched import os
from autochron.errors import RuleError


def read_text(path: str | os.PathLike[str], shown: str) -> str:
    """Read a rule file; `shown` is how messages name it."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            # As TOML and tomli have it: CRLF is one line end.
            return file.read().replace("\r\n", "\n")
    except OSError as error:
        raise RuleError(f"{shown} can't be read ({error.strerror}); name another rule file") from error
    except UnicodeDecodeError as error:
        with open(path, "rb") as file:
            line = file.read()[: error.start].count(b"\n") + 1
        raise RuleError(f"{shown}:{line}: not UTF-8") from error
