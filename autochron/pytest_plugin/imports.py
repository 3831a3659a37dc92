"""Placeholder credentials while a test module is imported.

An agent may construct its client at import. The client demands a key, which a replay does not use.
"""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from autochron._runtime.unpatched import os
from autochron.isolation.environment import fill_in

if TYPE_CHECKING:
    import pytest

_NAMED = re.compile(rb"[\"']([^\"'\n]+\.jsonl)[\"']")


def fill_in_for(module: pytest.Module) -> Callable[[], None]:
    """Set placeholders for the credentials of the traces that a test module names.

    The traces are found by the names of trace files among the module's string literals.

    Returns:
        A function that removes the placeholders.
    """
    with open(module.path, "rb") as file:
        names = dict.fromkeys(os.fsdecode(match) for match in _NAMED.findall(file.read()))
    folders = (os.path.dirname(module.path), str(module.config.rootpath))
    paths = (
        path
        for name in names
        for folder in folders
        for path in glob.glob(os.path.join(folder, name), recursive=True)
    )
    return fill_in(dict.fromkeys(variable for path in paths for variable in _credentials(path)))


def _credentials(path: str) -> Iterator[str]:
    """Yield the names of the credentials in a trace file's footer; none if the file can't be read: its test reports that."""
    try:
        with open(path, "rb") as file:
            lines = [line for line in file if line.startswith(b'{"footer"')]
        footer: Any = json.loads(lines[-1])["footer"] if lines else {}
        yield from (name for name in footer.get("credentials", ()) if isinstance(name, str))
    except (OSError, ValueError, AttributeError, TypeError, KeyError):
        return
