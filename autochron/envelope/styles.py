"""The layouts of JSON text that Python's `json` writes. It prints some floats otherwise than msgspec does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

parse = json.loads


def _dumps(**options: Any) -> Callable[[Any], bytes]:
    encoder = json.JSONEncoder(allow_nan=False, **options)
    return lambda value: encoder.encode(value).encode()


STYLES: Final[dict[str, Callable[[Any], bytes]]] = {
    "compact-python": _dumps(separators=(",", ":"), ensure_ascii=False),
    "compact-ascii": _dumps(separators=(",", ":")),
    "spaced": _dumps(ensure_ascii=False),
    "spaced-ascii": _dumps(),
    "indent-2": _dumps(indent=2, ensure_ascii=False),
    "indent-2-ascii": _dumps(indent=2),
    "indent-4": _dumps(indent=4, ensure_ascii=False),
    "indent-4-ascii": _dumps(indent=4),
}
