"""Keep secrets out of what a study keeps for written tests: these are committed."""

from __future__ import annotations

from functools import lru_cache

from autochron.model import Rules
from autochron.redaction.redactor import Redactor


def shows_secret(text: str) -> bool:
    """Return whether a text has something in it that a recording would mask."""
    return _redactor().mask_text(text) != text


@lru_cache(maxsize=1)
def _redactor() -> Redactor:
    return Redactor.of(Rules())
