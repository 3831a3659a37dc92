"""Read the text of a rule file. Refusals name the file and the line."""

# os.path, not pathlib: this runs at the start of every recorded program, and pathlib costs 3 ms there.

from __future__ import annotations

from autochron._runtime.unpatched import os
from autochron.errors import RuleError


def read_text(path: str | os.PathLike[str], shown: str) -> str:
    r"""Return the text of a rule file, with `\n` as the only line end.

    Args:
        path: the file.
        shown: its name in messages.

    Raises:
        RuleError: it can't be read, or is not UTF-8.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            # In TOML, and for tomli, CRLF is one line end.
            return file.read().replace("\r\n", "\n")
    except OSError as error:
        raise RuleError(f"{shown} can't be read ({error.strerror}); name another rule file") from error
    except UnicodeDecodeError as error:
        with open(path, "rb") as file:
            line = file.read()[: error.start].count(b"\n") + 1
        raise RuleError(f"{shown}:{line}: not UTF-8") from error
