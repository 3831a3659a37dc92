"""Find the lines of a recorded program whose calls of sources are determined, as the scan of its source tells."""

from __future__ import annotations

import re
from functools import lru_cache

from autochron.detect.line_hash import source_lines
from autochron.model import Category

_MAYBE = re.compile(
    r"seed\(|__file__|setdefault|[cC]dll|CDLL|freeze_time|travel\(|patch|as_completed|imap_unordered|wait\(|verify_exp|"
    r"setattr|setenv|ZipInfo|Thread\b"
)
"""What a module has in which such a line may be. Others are not scanned: it is done at the end of each run."""


def excused_of(path: str) -> frozenset[tuple[int, Category]]:
    """Return the lines and categories of a file; nothing if it can't be read or parsed."""
    lines = source_lines(path)
    return _of_lines(lines) if any(map(_MAYBE.search, lines)) else frozenset()


@lru_cache(maxsize=64)
def _of_lines(lines: tuple[str, ...]) -> frozenset[tuple[int, Category]]:
    from autochron.detect.scan.scan import excused  # lazy: most programs have no such line

    try:
        return excused("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
