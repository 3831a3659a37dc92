"""The snapshot of a list of plain JSON, in MessagePack, by an encoder that refuses every other type."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any

import msgspec

from autochron._runtime.signals import is_interruption
from autochron._runtime.unpatched import os
from autochron.effects.undisturbed import undisturbed


def exact_snapshot(value: list[Any]) -> bytes | None:
    """Return the snapshot of a list that holds only what JSON has types for, or bytes; None for any other list.

    Two lists with equal snapshots are of the same types throughout, unless they hold bytes, or values that are written as
    bytes are.
    """
    encode = _encoder()
    if encode is None:
        return None
    try:
        return encode(value)
    except (TypeError, ValueError):
        return None


@cache
def _encoder() -> Callable[[Any], bytes] | None:
    """Return ormsgpack's encoder. It is imported only here, since few programs have long conversations.

    None where the program would import another module of that name, whose code must not run.
    """
    try:
        with undisturbed():
            if _folder_of(find_spec("ormsgpack")) != _folder_of(msgspec.__spec__):
                return None
            import ormsgpack

            packb = ormsgpack.packb
            options = (
                ormsgpack.OPT_PASSTHROUGH_DATACLASS
                | ormsgpack.OPT_PASSTHROUGH_DATETIME
                | ormsgpack.OPT_PASSTHROUGH_ENUM
                | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
                | ormsgpack.OPT_PASSTHROUGH_TUPLE
                | ormsgpack.OPT_PASSTHROUGH_UUID
            )
    except Exception as error:  # without it the types are tested one by one, which takes longer
        if is_interruption(error):
            raise
        return None
    return lambda value: packb(value, None, options)


def _folder_of(spec: ModuleSpec | None) -> str | None:
    """Return the folder that a package is in."""
    return None if spec is None or spec.origin is None else os.path.dirname(os.path.dirname(spec.origin))
