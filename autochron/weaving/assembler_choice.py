"""The choice of an assembler: our own on the Pythons that it is verified for, else the portable one.

Attributes:
    CHOSEN: `own`, or `portable` for that of the `bytecode` package. `AUTOCHRON_ASSEMBLER` forces one.
    IS_VERIFIED: whether this version of Python is one that weaving is tested on. On another one, shapes of code whose probe
        fails are refused (`probing`).
    KEY: what code in the cache depends on.
"""

from __future__ import annotations

from autochron._runtime import unpatched
from autochron._runtime.instruction_set import VERIFIED, VERSION
from autochron.errors import UsageError

IS_VERIFIED = VERSION in VERIFIED
_VARIABLE = "AUTOCHRON_ASSEMBLER"


def _choose() -> str:
    wanted = unpatched.environ.get(_VARIABLE, "")
    if wanted not in ("", "own", "portable"):
        raise UsageError(f"{_VARIABLE} is {wanted!r}; it is own, portable or empty")
    if wanted == "own" and not IS_VERIFIED:
        raise UsageError(
            f"{_VARIABLE} is own, but that assembler is not verified for Python {VERSION[0]}.{VERSION[1]}; let it be empty"
        )
    return wanted or ("own" if IS_VERIFIED else "portable")


CHOSEN = _choose()
KEY = CHOSEN if IS_VERIFIED else f"{CHOSEN}, unverified"
