"""From a file to TOML, with refusals that name file and line."""

# os.path, not pathlib: this runs at the start of every recorded program, and pathlib costs 3 ms there.

from __future__ import annotations

import os
from typing import Any

from autochron.errors import RuleError
from autochron.rules.lines import KeyPath
from autochron.rules.tables import Source


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


def parse_toml(
    shown: str, text: str, tables: dict[KeyPath, int] | None = None
) -> tuple[Source, dict[str, Any]]:
    """Parse a TOML document; `tables` are lines that are known already."""
    import tomli  # lazy: 2 to 8 ms that a run without rules and packs saves

    try:
        values = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise RuleError(f"{shown}:{error.lineno}: {error.msg} at column {error.colno}") from error
    return Source(shown, text, tables), values
