"""Closure variables of a woven function, which are read from its frame while a handler is called."""

from __future__ import annotations

import opcode
import sys
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final

from autochron._runtime.frame_locals import locals_of
from autochron._runtime.unpatched import getframe

if TYPE_CHECKING:
    from autochron.weaving.gate import Point

CELL: Final = "cell:"
"""The prefix of a closure variable's name among the things that a call changed."""


class Cells:
    """The closure variables of a definition's innermost call, by name.

    Works only while the definition's own code is calling us, directly or not.
    """

    __slots__ = ("_point",)

    def __init__(self, point: Point) -> None:
        self._point = point

    def get(self, name: str, default: Any = None) -> Any:
        """Return a variable's value; the default if there is no such variable or no such call."""
        frame = frame_of(self._point)
        return default if frame is None else locals_of(frame).get(name, default)

    def __setitem__(self, name: str, value: Any) -> None:
        frame = frame_of(self._point)
        if frame is not None:
            frame.f_locals[name] = value
            if sys.version_info < (3, 13):
                _write_back(frame)


def frame_of(point: Point) -> FrameType | None:
    """Return the innermost frame of a definition among our callers; None if there is none."""
    frame: FrameType | None = getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename == point.file and code.co_firstlineno == point.line and _is_of(code, point):
            return frame
        frame = frame.f_back
    return None


def _is_of(code: CodeType, point: Point) -> bool:
    return code.co_qualname == point.qualname or code.co_name == "<lambda>"


def _write_back(frame: FrameType) -> None:
    """Copy what was written into a frame's `f_locals` to its variables; Python does this itself from 3.13 on."""
    import ctypes  # lazy: few tools assign such a variable

    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def named_cells(code: CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a function's closure variables: (those that it only reads, those that it assigns or deletes)."""
    names = [name for name in code.co_freevars if name != "__class__"]
    if not names:
        return (), ()
    stored = {name for name in _assigned(code) if name in names}
    return tuple(name for name in names if name not in stored), tuple(
        name for name in names if name in stored
    )


def _assigned(code: CodeType) -> set[str]:
    import dis  # lazy: few tools have a closure

    return {
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if instruction.opcode in _STORES and instruction.argval is not None
    }


_STORES = frozenset({opcode.opmap["STORE_DEREF"], opcode.opmap["DELETE_DEREF"]})
