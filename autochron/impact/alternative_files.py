"""Alternative contents of files, folders and answers of other processes, which `impact` puts in place of those of a replay.

What a text is decides what another one may be: JSON stays JSON, a number stays a number, and of lines some are changed, fewer
or more. So a program that reads the content gets as far with it as with the recorded one.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

_MORE = 12
"""How many lines, elements or entries are added, so that a limit for their number is passed."""
_NUMBER = re.compile(r"\d+(?!\d)")
_DIGITS = 12
"""The most digits of a size that is sought."""
_DAY = 86_400
_AGES = (-409 * _DAY, 431 * _DAY, -3_661, 7)
"""Seconds by which the times of a file are moved."""


class Same(Exception):  # noqa: N818 - no error: there is no other value of this one
    """No alternative is known for this kind of content."""


def other_text(text: str, variant: int) -> str:
    """Return another text of the same kind."""
    kinds = (_other_json, _other_number, _other_lines)
    for make in kinds:
        other = make(text, variant)
        if other is not None and other != text:
            return other
    return f"{text}other {variant}\n" if text.endswith("\n") or not text else f"{text} other {variant}"


def other_bytes(data: bytes, variant: int) -> bytes:
    """Return other bytes: those of another text where they are text."""
    try:
        return other_text(data.decode(), variant).encode()
    except UnicodeDecodeError:
        return (data[::-1] + b"\0", data[:-1], data * 2, data + b"other")[variant % 4]


def _other_json(text: str, variant: int) -> str | None:
    """Return other JSON; None where the text is none, or only a number or a word."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict | list):
        return None
    other = _other_value(value, variant)
    if other == value:
        other = [*value, "other"] if isinstance(value, list) else {**value, "other": variant}
    return json.dumps(other) + ("\n" if text.endswith("\n") else "")


def _other_value(value: Any, variant: int) -> Any:
    """Return another value of JSON with the same keys."""
    match value:
        case dict():
            return {key: _other_value(part, variant) for key, part in value.items()}
        case list():
            parts = [_other_value(part, variant) for part in value] if variant % 2 == 0 else value
            return (parts, parts[:-1], parts + parts[-1:] * _MORE, parts[::-1])[variant % 4]
        case bool():
            return not value
        case int() | float():
            return (value + 17, 0, value * 1000 + 1, -1)[variant % 4]
        case str():
            digits = _other_number(value, variant)
            return digits if digits is not None else f"{value}-other" if variant % 2 == 0 else value[:-1]
    return value


def _other_number(text: str, variant: int) -> str | None:
    """Return another number with the same space around; None where the text is no number."""
    stripped = text.strip()
    try:
        number = int(stripped)
    except ValueError:
        try:
            return text.replace(stripped, f"{float(stripped) * (3, 0, -1, 1000)[variant % 4] + 0.5}", 1)
        except ValueError:
            return None
    return text.replace(stripped, str((number + 1, 0, number * 2 + 17, number + 100_003)[variant % 4]), 1)


def _other_lines(text: str, variant: int) -> str | None:
    """Return the text with other numbers or words, without its last line, with more lines, or with the lines reversed."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return None
    if variant >= 4:
        draw = random.Random(variant)
        return _NUMBER.sub(lambda found: "".join(draw.choices("0123456789", k=len(found[0]))), text)
    match variant % 4:
        case 0:
            changed = _NUMBER.sub(lambda found: str(int(found[0]) + 17), text)
            return changed if changed != text else f"{lines[0].rstrip()} other\n{''.join(lines[1:])}"
        case 1:
            return "".join(lines[:-1]) if len(lines) > 1 else ""
        case 2:
            whole = text if text.endswith("\n") else f"{text}\n"
            last = lines[-1].rstrip()
            return whole * _MORE + "".join(f"{last}{number}\n" for number in range(_MORE))
    return "".join(lines[::-1]).swapcase()


def other_entries(entries: list[Any], variant: int) -> list[Any]:
    """Return a folder's entries in another order, fewer of them, or with more, where they are names."""
    if variant == 3 and entries and all(isinstance(entry, str) for entry in entries):
        stem, suffix = os.path.splitext(entries[-1])
        return [*entries, *(f"{stem}-{number}{suffix}" for number in range(_MORE))]
    changed = {
        0: entries[::-1],
        1: entries[:-1],
        2: entries[1:] + entries[:1],
        3: entries[1:],
        4: entries[1:],
    }
    if variant in changed:
        return changed[variant]
    return random.Random(variant).sample(entries, len(entries))


def other_file_value(name: str, kept: Any, variant: int) -> Any:
    """Return another value of a function that reads of files.

    Args:
        name: the last name of the function.
        kept: its value.
        variant: the variant's number.

    Raises:
        Same: no other value of this kind is known.
    """
    match kept:
        case bool():
            return not kept
        case os.stat_result():
            return _other_stat(kept, variant)
        case list():
            return other_entries(kept, variant)
        case str() if name in ("read_text", "getline"):
            return other_text(kept, variant)
        case bytes():
            return other_bytes(kept, variant)
        case float():
            return kept + _AGES[variant % 4] * (1 + variant // 4)
        case int():
            if variant >= 4:
                return round(10 ** random.Random(variant).uniform(0, _DIGITS))
            return (kept + 1, 0, kept * 2 + 3, kept + 100_003)[variant]
        case tuple() if kept and all(isinstance(part, int | float) for part in kept):
            return _other_tuple(kept, variant)
    raise Same


def _other_stat(kept: os.stat_result, variant: int) -> os.stat_result:
    """Return the status of a file of another age and size."""
    moved = _AGES[variant % 4] * (1 + variant // 4)
    fields = list(kept)
    fields[6] = (fields[6] + 1, 0, fields[6] * 2 + 3, fields[6] + 100_003)[variant % 4]
    fields[7:10] = [value + moved for value in fields[7:10]]
    named = {
        name: getattr(kept, name) for name in dir(kept) if name.startswith("st_") and name not in _STAT_FIELDS
    }
    for name, value in named.items():
        if name.endswith("time"):
            named[name] = value + moved
        elif name.endswith("time_ns"):
            named[name] = value + moved * 10**9
    return os.stat_result(fields, named)


_STAT_FIELDS = frozenset({"st_mode", "st_ino", "st_dev", "st_nlink", "st_uid", "st_gid", "st_size"})
"""The fields of a status that it takes by position, besides the times."""


def _other_tuple(kept: Sequence[float], variant: int) -> Any:
    """Return other numbers, in a tuple of the same kind."""
    numbers = [(part * 10 + 60, 0, part / 1000, part * 2 + 3)[variant % 4] for part in kept]
    numbers = [type(part)(number) for part, number in zip(kept, numbers, strict=True)]
    make: Callable[..., Any] | None = getattr(type(kept), "_make", None)
    return tuple(numbers) if make is None else make(numbers)


def other_answer(kept: Any, variant: int) -> Any:
    """Return another answer of a process: other output, or a failure.

    Raises:
        Same: no other value of this kind is known.
    """
    match kept:
        case str():
            return other_text(kept, variant)
        case bytes():
            return other_bytes(kept, variant)
        case int():
            return 0 if kept else variant + 1
        case (int() as status, str() as text):
            return (0 if status else 1, text) if variant % 2 else (status, other_text(text, variant))
    if not hasattr(kept, "returncode"):
        raise Same
    output = getattr(kept, "stdout", None)
    if output is None or variant % 4 == 3:
        return type(kept)(kept.args, 0 if kept.returncode else 1, output, kept.stderr)
    return type(kept)(kept.args, kept.returncode, other_answer(output, variant), kept.stderr)


def text_of(kept: Any) -> str | None:
    """Return the text of a content or of a process's output; None where it is none."""
    match kept:
        case str():
            return kept
        case bytes():
            return kept.decode("utf-8", "replace")
    output = getattr(kept, "stdout", None)
    return None if output is None else text_of(output)


def with_text(kept: Any, text: str) -> Any:
    """Return a content, or the answer of a process, with another text; None where it has none."""
    match kept:
        case str():
            return text
        case bytes():
            return text.encode()
    output = getattr(kept, "stdout", None)
    if output is None:
        return None
    return type(kept)(kept.args, kept.returncode, with_text(output, text), kept.stderr)


def with_words(kept: Any, words: Sequence[str]) -> Any:
    """Return a content or an answer with more lines, in which there are words; the same one where it is no text."""
    text = text_of(kept)
    if text is None or not words:
        return kept
    lines = text.splitlines() or [""]
    ended = text if text.endswith("\n") or not text else f"{text}\n"
    more = "".join(f"{word}\n{lines[-1]} {word}\n" for word in words)
    return with_text(kept, ended + more)
