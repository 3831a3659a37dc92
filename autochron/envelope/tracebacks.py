"""Tracebacks as data, and an equivalent traceback made from that data.

A frame is `[file, line, function]`, then the three columns of the caret line where they are known.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from itertools import islice
from typing import Any

from autochron._runtime.unpatched import os
from autochron.envelope.types import absolute_file, has_root, on_root_change, relative_file
from autochron.weaving.gate import THROUGH

MAX_FRAMES = 200
"""Of a runaway recursion the first and the last half are kept."""


def describe(traceback: types.TracebackType | None, below: types.FrameType) -> list[list[Any]]:
    """List the frames of a traceback; those down to `below` are left out where it is among them."""
    entries: list[types.TracebackType] = []
    while traceback is not None:
        if traceback.tb_frame is below:
            entries.clear()
        elif traceback.tb_frame.f_globals.get("__name__") not in THROUGH:
            entries.append(traceback)
        traceback = traceback.tb_next
    if len(entries) > MAX_FRAMES:
        entries = entries[: MAX_FRAMES // 2] + entries[-MAX_FRAMES // 2 :]
    described: dict[
        tuple[int, int, int | None], list[Any]
    ] = {}  # of a recursion most frames are at the same place
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
"""The labels of files: an exception that crosses many boundaries has its frames described at each."""

_LABELS = 4096

on_root_change(_labels.clear)


def _label(file: str) -> str:
    """Return a file's name that means the same on every machine, and says nothing of this one."""
    known = _labels.get(file)
    if known is None:
        known = _new_label(file)
        if has_root():  # else it depends on the working folder
            if len(_labels) >= _LABELS:
                _labels.clear()
            _labels[file] = known
    return known


def _new_label(file: str) -> str:
    named = relative_file(file)
    for folder in _FOLDERS:
        _, found, inner = named.rpartition(folder)
        if found:
            return f"{_PACKAGES}/{inner}"
    library = os.path.dirname(os.__file__).replace(os.sep, "/")
    return f"{_STDLIB}{named.removeprefix(library)}" if named.startswith(f"{library}/") else named


def _found(label: str) -> str:
    """Return the file that a label means here; of a library that is not here, where it would be."""
    base, _, inner = label.partition("/")
    if base == _STDLIB:
        return os.path.join(os.path.dirname(os.__file__), inner)
    if base != _PACKAGES:
        return absolute_file(label)
    folders = [each for each in sys.path if f"{each}/".replace(os.sep, "/").endswith(_FOLDERS)]
    files = [os.path.join(each, inner) for each in folders]
    return next((each for each in files if os.path.exists(each)), files[0] if files else label)


def with_traceback_frames(error: BaseException, frames: Sequence[Sequence[Any]]) -> BaseException:
    """Return the error a traceback that prints the same files, lines and functions."""
    traceback: types.TracebackType | None = None
    for described in reversed(frames):
        made = _entry(described)
        if made is not None:
            traceback = types.TracebackType(traceback, made.tb_frame, made.tb_lasti, made.tb_lineno)
    return error.with_traceback(traceback)


def _entry(described: Sequence[Any]) -> types.TracebackType | None:
    """Raise from a code object that consists of one missing name, placed where the real frame was.

    A frame can't be made otherwise. Nothing of the trace is run: name, file and position are only labels.
    """
    file, line, function = described[:3]
    if not (isinstance(file, str) and isinstance(line, int) and isinstance(function, str)):
        return None
    code = _code(_found(file), max(line, 1), described[3:]).replace(co_name=function, co_qualname=function)
    try:
        exec(code, {"__builtins__": {}, "__name__": "?"})  # noqa: S102 - the name above and nothing else
    except NameError as caught:
        raised = caught.__traceback__
        return raised.tb_next if raised is not None else None
    return None


def _code(file: str, line: int, columns: Sequence[Any]) -> types.CodeType:
    import ast  # lazy: 2 ms, and only a replay makes tracebacks

    name = ast.Name("_", ast.Load())
    statement = ast.Expr(name)
    where: dict[str, Any] = {"lineno": line, "col_offset": 0, "end_lineno": line, "end_col_offset": 0}
    if len(columns) == 3 and all(isinstance(n, int) and n >= 0 for n in columns) and columns[0] >= line:
        where.update(end_lineno=columns[0], col_offset=columns[1], end_col_offset=columns[2])
    for node in (name, statement):
        for key, value in where.items():
            setattr(node, key, value)
    try:
        return compile(ast.Module([statement], []), file, "exec")
    except (ValueError, OverflowError):  # a position that was edited by hand
        for node in (name, statement):
            node.lineno, node.end_lineno, node.col_offset, node.end_col_offset = 1, 1, 0, 0
        return compile(ast.Module([statement], []), "?", "exec")
