"""Tracebacks as data, and equivalent tracebacks made from that data.

A frame is `[file, line, function]`, followed by the end line and the two columns of its position where they are known.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from itertools import islice
from typing import Any

from autochron._runtime import bare
from autochron._runtime.unpatched import os
from autochron.envelope.types import absolute_file, has_root, on_root_change, relative_file

MAX_FRAMES = 200
"""Frames of one traceback that are written, at most: the first half and the last half."""


def describe(traceback: types.TracebackType | None, below: types.FrameType) -> list[list[Any]]:
    """Return the frames of a traceback as data.

    Args:
        traceback: the outermost entry.
        below: the frame down to which frames are left out, if it is among them.
    """
    entries: list[types.TracebackType] = []
    while traceback is not None:
        if traceback.tb_frame is below:
            entries.clear()
        else:
            entries.append(traceback)
        traceback = traceback.tb_next
    if len(entries) > MAX_FRAMES:
        entries = entries[: MAX_FRAMES // 2] + entries[-MAX_FRAMES // 2 :]
    # In a recursion most frames are at the same place, so each place is described once.
    described: dict[tuple[int, int, int | None], list[Any]] = {}
    frames = []
    for entry in entries:
        place = (id(entry.tb_frame.f_code), entry.tb_lasti, entry.tb_lineno)
        frame = described.get(place)
        if frame is None:
            frame = described[place] = _describe_entry(entry)
        frames.append(frame)
    return frames


def _describe_entry(entry: types.TracebackType) -> list[Any]:
    code = entry.tb_frame.f_code
    described: list[Any] = [_label(code.co_filename), entry.tb_lineno or 0, code.co_name]
    positions = next(islice(code.co_positions(), entry.tb_lasti // 2, None), None)
    if positions is not None and positions[0] == entry.tb_lineno and None not in positions:
        described.extend(positions[1:])
    return described


_STDLIB = "{stdlib}"
_PACKAGES = "{site-packages}"
_FOLDERS = ("/site-packages/", "/dist-packages/")


_labels: dict[str, str] = {}
"""The labels of files. An exception that crosses many boundaries has its frames described at each of them."""

_LABELS = 4096

on_root_change(_labels.clear)


def _label(file: str) -> str:
    """Return a name for a file that is the same on every machine and reveals nothing of this one."""
    label = _labels.get(file)
    if label is None:
        label = _new_label(file)
        if has_root():  # without a root the label depends on the working folder, which may change
            if len(_labels) >= _LABELS:
                _labels.clear()
            _labels[file] = label
    return label


def _new_label(file: str) -> str:
    path = relative_file(file)
    for folder in _FOLDERS:
        _, separator, inner = path.rpartition(folder)
        if separator:
            return f"{_PACKAGES}/{inner}"
    library = os.path.dirname(os.__file__).replace(os.sep, "/")
    return f"{_STDLIB}{path.removeprefix(library)}" if path.startswith(f"{library}/") else path


def _file_of(label: str) -> str:
    """Return the file that a label means on this machine; for a file that isn't there, where it would be."""
    base, _, inner = label.partition("/")
    if base == _STDLIB:
        return os.path.join(os.path.dirname(os.__file__), inner)
    if base != _PACKAGES:
        return absolute_file(label)
    folders = [folder for folder in sys.path if f"{folder}/".replace(os.sep, "/").endswith(_FOLDERS)]
    files = [os.path.join(folder, inner) for folder in folders]
    return next((file for file in files if os.path.exists(file)), files[0] if files else label)


def with_traceback_frames(error: BaseException, frames: Sequence[Sequence[Any]]) -> BaseException:
    """Set a traceback on an error that prints the same files, lines and functions, and return the error.

    Args:
        error: the exception.
        frames: the frames as `describe` returns them, outermost first.
    """
    traceback: types.TracebackType | None = None
    for described in reversed(frames):
        entry = _entry(described)
        if entry is not None:
            traceback = types.TracebackType(traceback, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(traceback)


def prepend_frames(error: BaseException, recorded: BaseException) -> None:
    """Put frames of a rebuilt error before those of the error that a program threw into a body, as the body's own would be.

    Args:
        error: the error that was thrown. The traceback that it has by now was part of the recorded one.
        recorded: the rebuilt error.
    """
    entries, traceback = (
        _entries(bare.of_error(recorded, "__traceback__")),
        bare.of_error(error, "__traceback__"),
    )
    count = max(len(entries) - len(_entries(traceback)), 0)
    for entry in reversed(entries[:count]):
        traceback = types.TracebackType(traceback, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    BaseException.with_traceback(error, traceback)


def _entries(traceback: types.TracebackType | None) -> list[types.TracebackType]:
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    return entries


def _entry(described: Sequence[Any]) -> types.TracebackType | None:
    """Make a traceback entry by raising from code that consists of one missing name, at the position of the real frame.

    A frame can't be made otherwise. Nothing of the trace is run: name, file and position are only labels.
    """
    file, line, function = described[:3]
    if not (isinstance(file, str) and isinstance(line, int) and isinstance(function, str)):
        return None
    code = _code(_file_of(file), max(line, 1), described[3:]).replace(co_name=function, co_qualname=function)
    try:
        exec(code, {"__builtins__": {}, "__name__": "?"})  # noqa: S102 - it evaluates one missing name
    except NameError as caught:
        raised = caught.__traceback__
        return raised.tb_next if raised is not None else None
    return None


def _code(file: str, line: int, columns: Sequence[Any]) -> types.CodeType:
    import ast  # lazy: 2 ms, and only a replay makes tracebacks

    name = ast.Name("_", ast.Load())
    statement = ast.Expr(name)
    where: dict[str, Any] = {"lineno": line, "col_offset": 0, "end_lineno": line, "end_col_offset": 0}
    has_columns = False
    if len(columns) == 3 and all(isinstance(n, int) and n >= 0 for n in columns) and columns[0] >= line:
        where.update(end_lineno=columns[0], col_offset=columns[1], end_col_offset=columns[2])
        has_columns = True
    for node in (name, statement):
        for key, value in where.items():
            setattr(node, key, value)
    try:
        code = compile(ast.Module([statement], []), file, "exec")
        return code if has_columns else _without_columns(code, line)
    except (ValueError, OverflowError):  # someone has edited the position in the trace
        for node in (name, statement):
            node.lineno, node.end_lineno, node.col_offset, node.end_col_offset = 1, 1, 0, 0
        return compile(ast.Module([statement], []), "?", "exec")


def _without_columns(code: types.CodeType, line: int) -> types.CodeType:
    """Return a code object whose instructions are all on a line, at no known column, as with `-X no_debug_ranges`."""
    units, table = len(code.co_code) // 2, bytearray()
    while units > 0:
        part = min(units, 8)
        table += bytes(
            (0x80 | 13 << 3 | part - 1, 0)
        )  # an entry of the kind without columns, no line further
        units -= part
    return code.replace(co_firstlineno=line, co_linetable=bytes(table))
