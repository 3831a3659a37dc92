"""Keep our modules usable until the process has ended.

Objects that a program leaves behind, such as a suspended generator in a module, are finalized after Python has set the
globals of modules to None. Code of ours that runs then would fail, and Python would print the error to the program's stderr.
"""

from __future__ import annotations

import atexit
import sys
from typing import Any

_PACKAGE = __name__.partition(".")[0]

_registered = False


class _KeptModule:
    """Replaces a module of ours in `sys.modules`, and shares its globals.

    It is not a module, so Python does not clear the globals. Imports work as with the module.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.__dict__ = namespace


def keep_modules_at_exit() -> None:
    """Arrange that our modules are kept once the exit functions have run that are registered after this call."""
    global _registered  # noqa: PLW0603 - exit functions belong to the process
    if not _registered:
        _registered = True
        atexit.register(keep_modules)


def keep_modules() -> None:
    """Replace our modules that are imported so far, so that Python does not clear them at its end."""
    global _registered  # noqa: PLW0603 - as above
    _registered = False
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE and not isinstance(module, _KeptModule):
            sys.modules[name] = _KeptModule(vars(module))  # type: ignore[assignment]  # the import system asks for no more
