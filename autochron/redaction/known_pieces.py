"""Pieces of texts that were judged before and can't be a part of a secret, whatever stands beside them.

The texts that a program records have most of their pieces in common: keys, roles, the messages of a conversation. A
text that consists only of known pieces is judged no further.
"""

from __future__ import annotations

from autochron.redaction import commands, contexts, encoded, signin
from autochron.redaction.plain_view import hides_bytes, hides_letters
from autochron.redaction.secret_names import SecretNames
from autochron.redaction.secret_patterns import may_hold_needle, may_hold_vendors

_LONGEST_TEXT = 4000
"""Characters of a text beyond which too few of its pieces are known: to search for them would only take time."""
_LONGEST = 200
_MOST = 4096
# Texts that make a secret of another piece: statements of SQL, lines of netrc, objects that ask for a token.
_TELLING = ("identified", " into", "passw", "grant_type", "redirect_uri")


class KnownPieces:
    """Texts between two quotes that are harmless, unless they name a vendor."""

    __slots__ = ("_harmless", "_looker", "_names")

    def __init__(self, names: SecretNames, looker: encoded.DecodedLooker) -> None:
        self._names = names
        self._looker = looker
        self._harmless: set[str] = set()

    def make_up(self, text: str) -> bool:
        """Return whether a text consists of harmless pieces, and remember those that are new.

        Args:
            text: raw JSON text or a plain string. The answer may be False for harmless text.
        """
        if len(text) > _LONGEST_TEXT:
            return False
        fresh = set(text.split('"'))
        harmless = self._harmless
        if not fresh <= harmless:
            fresh -= harmless
            if not self._are_harmless('"' + '"'.join(fresh) + '"'):
                return False
            if len(harmless) + len(fresh) > _MOST:
                harmless.clear()
            harmless.update([piece for piece in fresh if len(piece) <= _LONGEST])
        return not may_hold_vendors(text)

    def _are_harmless(self, pieces: str) -> bool:
        """Return whether no piece can be a part of a secret, or a name for a secret in another piece."""
        # Loops and not `any`: a generator takes longer than the search.
        lower = pieces.lower()
        for word in _TELLING:
            if word in lower:
                return False
        if hides_letters(pieces) or hides_bytes(pieces) or may_hold_needle(pieces) or "%" in pieces:
            return False
        if "=" in pieces and signin.may_be_in(pieces):
            return False
        if "-" in pieces and commands.has_option(pieces):
            return False
        if contexts.has_port(pieces):
            return False
        names = self._names
        if names.may_be_in(pieces) and next(contexts.find_names(pieces, names), None) is not None:
            return False
        return not encoded.may_be_in(pieces, self._looker)
