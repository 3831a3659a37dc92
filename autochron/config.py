"""Where the rule file is, and where traces go by default."""

# os.path, not pathlib: this runs at the start of every recorded program, and pathlib costs 3 ms there.

from __future__ import annotations

import os

RULE_FILE = "autochron.toml"
PROJECT_FILE = "pyproject.toml"
STORE = os.path.join(".autochron", "traces.db")


def find_rule_file(start: str | os.PathLike[str] | None = None) -> str | None:
    """Find the nearest rule file from a program's path or a folder upward; None where there is none.

    In one folder `autochron.toml` comes before a `pyproject.toml` with a `[tool.autochron]` table. `start`
    defaults to the working folder and need not exist.
    """
    folder = os.path.abspath(start if start is not None else os.curdir)
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    while True:
        own = os.path.join(folder, RULE_FILE)
        if os.path.isfile(own):
            return own
        project = os.path.join(folder, PROJECT_FILE)
        if os.path.isfile(project) and _has_table(project):
            return project
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def default_store(
    rule_file: str | os.PathLike[str] | None, folder: str | os.PathLike[str] | None = None
) -> str:
    """Return the path of the store beside the rule file, else in `folder`, the working folder unless given."""
    if rule_file is not None:
        return os.path.join(os.path.dirname(os.path.abspath(rule_file)), STORE)
    return os.path.join(os.path.abspath(folder if folder is not None else os.curdir), STORE)


def _has_table(path: str) -> bool:
    """Return whether a pyproject.toml has a `[tool.autochron]` table, parsing it only where it may."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return False
    if b"autochron" not in data or not any(_may_open(line) for line in data.splitlines()):
        return False
    import tomli  # lazy: most programs have no such file, and it costs 2 to 8 ms

    try:
        tool = tomli.loads(data.decode()).get("tool")
    except ValueError:
        # It names us and is broken: to read it as rules says where.
        return True
    return isinstance(tool, dict) and "autochron" in tool


def _may_open(line: bytes) -> bool:
    """Return whether a line may open it: `[tool.autochron`, `[tool]`, `tool.autochron = {`, or quoted."""
    bare = line.strip().translate(None, b" \t\"'[")
    return bare.startswith((b"tool.autochron", b"tool]", b"tool="))
