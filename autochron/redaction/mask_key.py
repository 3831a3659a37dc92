"""The user's key for digests of masked values: with it a replay can tell whether a secret has changed.

The key belongs to the user and is never in a trace. It is in `AUTOCHRON_MASK_KEY`, or in `autochron/mask.key` in the folder
of the user's settings, where the first recording that masks something in an input or in the program's output creates it. A
digest reveals nothing to someone who has a trace and no key.
"""

from __future__ import annotations

from _blake2 import blake2b  # not hashlib, which loads OpenSSL
from operator import ne
from typing import Any, Final

from msgspec import Struct
from msgspec.json import decode, encode

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.errors import MaskKeyError
from autochron.json_differences import Pairs, differences_between, pair_equal_lengths
from autochron.redaction.secret_patterns import MASK

VARIABLE: Final = "AUTOCHRON_MASK_KEY"
_LENGTH: Final = 64
"""Hexadecimal digits of a key in a file."""


class MaskKey(Struct, frozen=True):
    """A key.

    Attributes:
        id: distinguishes it from other keys, and reveals nothing else of it.
        secret: 32 bytes.
    """

    id: str
    secret: bytes

    def digests(self, raw: bytes, masked: bytes) -> dict[str, str]:
        """Return a digest of each value that was masked, by its path.

        Args:
            raw: JSON text.
            masked: the same text, masked.

        Returns:
            24 hexadecimal digits by dotted path; an empty digest for a value that had a mask in it before.
        """
        if raw == masked:
            return {}
        return {
            difference.dotted: self._digest(difference.first)
            for difference in differences_between(decode(raw), decode(masked), pair=_pair, is_other=ne)
        }

    def line_digests(self, raw: bytes, masked: bytes) -> list[str]:
        """Return a digest of each line that was masked, in their order.

        An empty digest stands for a line that had a mask in it before. Where masking has joined lines, the whole text
        counts as one line.
        """
        lines, masked_lines = raw.splitlines(), masked.splitlines()
        if len(lines) != len(masked_lines):
            lines, masked_lines = [raw], [masked]
        mask = MASK.encode()
        return [
            "" if mask in line else blake2b(line, key=self.secret, digest_size=12).hexdigest()
            for line, masked_line in zip(lines, masked_lines, strict=True)
            if line != masked_line or mask in line
        ]

    def _digest(self, value: Any) -> str:
        text = encode(value, order="deterministic")
        is_known = MASK.encode() not in text  # a replay serves masks, and the program may hand them on
        return blake2b(text, key=self.secret, digest_size=12).hexdigest() if is_known else ""


def _pair(raw: Any, masked: Any) -> Pairs | None:
    """Pair the members of two values of one shape. Equal values are not taken apart, since they may be large."""
    if raw == masked or (isinstance(raw, dict) and isinstance(masked, dict) and raw.keys() != masked.keys()):
        return None
    return pair_equal_lengths(raw, masked)


def mask_key(*, create: bool) -> MaskKey | None:
    """Return the user's key.

    Args:
        create: whether to make a key if there is none.

    Returns:
        The key; None where there is none, or none can be made.

    Raises:
        MaskKeyError: the file holds no key.
    """
    variable = unpatched.environ.get(VARIABLE)
    if variable:
        return _of(blake2b(variable.encode("utf-8", "surrogateescape"), digest_size=32).digest())
    file = key_file()
    try:
        return _read(file)
    except FileNotFoundError:
        return _make(file) if create else None
    except OSError:
        return None


def key_file() -> str:
    """Return the path of the file with the user's key."""
    base = unpatched.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "autochron", "mask.key")


def _of(secret: bytes) -> MaskKey:
    return MaskKey(blake2b(secret, person=b"autochron key", digest_size=4).hexdigest(), secret)


def _read(file: str) -> MaskKey:
    with open(file, encoding="ascii", errors="replace") as stream:
        text = stream.read(_LENGTH + 2).strip()
    try:
        if len(text) != _LENGTH:
            raise ValueError
        return _of(bytes.fromhex(text))
    except ValueError:
        raise MaskKeyError(
            f"{file}:1: this is no key of {_LENGTH} hexadecimal digits; put the right one there, or remove the file to have a"
            " new one made (what traces of the old one have masked can then not be compared)"
        ) from None


def _make(file: str) -> MaskKey | None:
    secret = unpatched.urandom(_LENGTH // 2)
    new = f"{file}.{unpatched.getpid()}"
    try:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "w", encoding="ascii") as stream:
                stream.write(f"{secret.hex()}\n")
            os.link(new, file)  # a link appears with its whole content, and never replaces a file
        finally:
            os.unlink(new)
    except FileExistsError:  # another process has made a key at the same time
        return _read(file)
    except OSError:
        return None
    return _of(secret)
