"""Keep our modules usable until the process is gone.

What a program leaves behind, such as a generator that waits in a module, is finalized after Python has set the globals of
modules to None. Code of ours that runs then would fail, and Python would print that into the program's errors.
"""

from __future__ import annotations

import atexit
import sys
from typing import Any

_PACKAGE = __name__.partition(".")[0]

_registered = False


class _KeptModule:
    """Stands in `sys.modules` for a module of ours, whose globals it shares.

    It is no module, so Python does not clear the globals; imports take from it as from the module.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.__dict__ = namespace


def keep_modules_at_exit() -> None:
    """Have our modules kept once the program's own exit functions have run: those that are registered after this call."""
    global _registered  # noqa: PLW0603 - exit functions belong to the process
    if not _registered:
        _registered = True
        atexit.register(keep_modules)


def keep_modules() -> None:
    """Keep what is imported of ours so far from being cleared as Python ends."""
    global _registered  # noqa: PLW0603 - as above
    _registered = False
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE and not isinstance(module, _KeptModule):
            sys.modules[name] = _KeptModule(vars(module))  # type: ignore[assignment]  # the import system asks for no more
