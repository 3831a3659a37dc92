"""Add tables to a rule file. Everything else in the file stays as it is."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import tomlkit
from tomlkit.items import AoT, Table

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.config import PROJECT_FILE
from autochron.errors import AutochronError, RuleError
from autochron.model import Rules
from autochron.rules.loading import load_rules

_SHORT = 3
"""A mapping or a list with at most so many elements is written in one line."""


class NewTable(NamedTuple):
    """A table to add."""

    kind: str
    """Its name: `boundary`, `ignore`."""
    fields: tuple[tuple[str, Any], ...]
    """Its keys and values, in order."""


def table_text(table: NewTable) -> str:
    """Return a table as it will be in the file."""
    document = tomlkit.document()
    array = tomlkit.aot()
    array.append(_entry(table.fields))
    document[table.kind] = array
    return tomlkit.dumps(document).strip()


def with_tables(path: str, tables: Iterable[NewTable]) -> tuple[str, str]:
    """Return the text of a rule file without and with further tables. A file that isn't there gets its first line.

    Raises:
        RuleError: the file can't be read.
    """
    before, document = _document(path)
    table: Table | tomlkit.TOMLDocument = document
    if os.path.basename(path) == PROJECT_FILE:
        table = document["tool"]["autochron"]
    for new in tables:
        array = table.get(new.kind)
        if array is None:
            array = tomlkit.aot()
            table.append(new.kind, array)
        assert isinstance(array, AoT)  # noqa: S101 - the rules were loaded
        array.append(_entry(new.fields))
    after = _evenly_spaced(before, tomlkit.dumps(document))
    if "\r\n" in before:
        after = re.sub(r"(?<!\r)\n", "\r\n", after)
    return before, after


def _evenly_spaced(before: str, after: str) -> str:
    """Return a document with one blank line before each of the new tables, which are the part that `before` lacks."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = next(
        (index for index, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), len(old)
    )
    lines = list(new[:start])
    for index, line in enumerate(new[start:], start):
        if index >= len(new) - (len(old) - start):
            lines += new[index:]
            break
        if line.strip() or not lines or lines[-1].strip():
            if line.startswith("[") and lines and lines[-1].strip():
                lines.append("\n")
            lines.append(line)
    return "".join(lines).rstrip("\n") + "\n" if start == len(old) else "".join(lines)


def _document(path: str) -> tuple[str, tomlkit.TOMLDocument]:
    """Return the text of a rule file and the parsed document; a new document if there is no file."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        document = tomlkit.document()
        document["version"] = 1
        return "", document
    except (OSError, UnicodeError) as error:
        raise RuleError(f"{path} can't be read ({error}); nothing was written") from error
    return text, tomlkit.parse(text)


def _entry(fields: Iterable[tuple[str, Any]]) -> Table:
    table = tomlkit.table()
    for name, value in fields:
        table[name] = _item(value)
    table.add(tomlkit.nl())
    return table


def _item(value: Any) -> Any:
    """Return a value as it is written: short mappings and lists in one line, longer ones with a line for each element."""
    if isinstance(value, Mapping) and len(value) > _SHORT:
        inner_table = tomlkit.table()
        for key, inner in value.items():
            inner_table[key] = _item(inner)
        return inner_table
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        for key, inner in value.items():
            inline[key] = _item(inner)
        return inline
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        array.extend(value)
        return array.multiline(multiline=len(value) > _SHORT)
    return value


def trial_rules(path: str, content: str, root: str) -> Rules:
    """Return the rules that a file would have with a content. Nothing is written beside the file.

    Raises:
        RuleError: they would not load.
    """
    import tempfile  # lazy: only before tables are added

    with tempfile.TemporaryDirectory() as folder:
        trial_file = os.path.join(folder, os.path.basename(path))  # the name decides how it is read
        with open(trial_file, "w", encoding="utf-8", newline="") as file:
            file.write(content)
        try:
            return load_rules(trial_file, root=root)
        except AutochronError as error:
            raise RuleError(
                f"{path} would not load with these tables, so nothing was changed: {error}"
            ) from error


def replace_rules(path: str, content: str, root: str, *, is_new: bool = False) -> None:
    """Write a rule file atomically, after a check that the rules in it load. A link and the file's mode stay.

    Args:
        path: the file.
        content: its text.
        root: the folder that its paths start from.
        is_new: whether to refuse a file that exists.

    Raises:
        RuleError: the file can't be written, exists, or would not load. Then nothing was changed.
    """
    path = os.path.realpath(path)
    trial_file = _write_trial(path, content)
    try:
        load_rules(trial_file, root=root)
        if is_new:
            with open(
                path, "x", encoding="utf-8", newline=""
            ) as file:  # not a link: few file systems have none
                file.write(content)
        else:
            if os.path.exists(path):
                os.chmod(trial_file, stat.S_IMODE(os.stat(path).st_mode))
            os.replace(trial_file, path)
    except OSError as error:
        raise RuleError(f"{path} can't be written ({error.strerror}); nothing was changed") from error
    except AutochronError as error:
        raise RuleError(
            f"{path} would not load with these tables, so nothing was changed: {error}"
        ) from error
    finally:
        _remove_trial(trial_file)


def _write_trial(path: str, content: str) -> str:
    """Write a content into a new folder beside a file, under the file's name, which decides how it is read."""
    folder, name = os.path.split(path)
    trial = os.path.join(folder, f".autochron-{unpatched.getpid()}")
    trial_file = os.path.join(trial, name)
    try:
        os.mkdir(trial)
        with open(trial_file, "w", encoding="utf-8", newline="") as file:
            file.write(content)
    except OSError as error:
        _remove_trial(trial_file)
        raise RuleError(f"{path} can't be written ({error.strerror}); nothing was changed") from error
    return trial_file


def _remove_trial(trial_file: str) -> None:
    if os.path.exists(trial_file):
        os.unlink(trial_file)
    folder = os.path.dirname(trial_file)
    if os.path.isdir(folder):
        os.rmdir(folder)
