"""While a test module is imported: an agent may make its client there, which wants a key that a replay has no use for."""

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
    """Set placeholders for the keys that the traces which a test module names were recorded with; give the undo."""
    with open(module.path, "rb") as file:
        named = dict.fromkeys(os.fsdecode(each) for each in _NAMED.findall(file.read()))
    folders = (os.path.dirname(module.path), str(module.config.rootpath))
    found = (
        path
        for name in named
        for folder in folders
        for path in glob.glob(os.path.join(folder, name), recursive=True)
    )
    return fill_in(dict.fromkeys(each for path in found for each in _credentials(path)))


def _credentials(path: str) -> Iterator[str]:
    """Yield the credentials that a trace file says were set; none where it can't be read, which its test says."""
    try:
        with open(path, "rb") as file:
            lines = [line for line in file if line.startswith(b'{"footer"')]
        footer: Any = json.loads(lines[-1])["footer"] if lines else {}
        yield from (each for each in footer.get("credentials", ()) if isinstance(each, str))
    except (OSError, ValueError, AttributeError, TypeError, KeyError):
        return
