"""Find out which programs another file may import, by their names in its text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from autochron._runtime.unpatched import os
from autochron.project import package_of, python_files, read_source

_SETTINGS = ("pyproject.toml", "setup.cfg", "setup.py")
"""Files beside a program that may name it as an entry point."""


def importable(programs: Iterable[str], paths: Iterable[str]) -> set[str]:
    """Return the programs that another file may import: a file with the name in its text, whatever it means there.

    A program that is part of a package is among them, since other projects may import it.

    Args:
        programs: the paths of programs.
        paths: files and folders of the project. What is beside a program is searched, too.
    """
    by_name: dict[bytes, list[str]] = {}
    found = set[str]()
    for program in programs:
        if package_of(program):
            found.add(program)
        else:
            name = os.path.splitext(os.path.basename(program))[0]
            by_name.setdefault(os.fsencode(name), []).append(program)
    if not by_name:
        return found
    words = {name: re.compile(rb"\b" + re.escape(name) + rb"\b") for name in by_name}
    folders = {os.path.dirname(program) for each in by_name.values() for program in each}
    beside = [file for folder in sorted(folders) for file in _beside(folder)]
    for file in dict.fromkeys([*beside, *map(os.path.abspath, python_files(tuple(paths)))]):
        source = (read_source(file) if os.path.isfile(file) else None) or b""
        for word, pattern in words.items():
            if word in source and pattern.search(
                source
            ):  # looking for a text is much faster than for a pattern
                found.update(program for program in by_name[word] if program != file)
    return found


def _beside(folder: str) -> list[str]:
    """Return the files of a folder that may name a program in it; none where it can't be listed."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(".py") or name in _SETTINGS]
