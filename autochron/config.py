"""Find the rule file and the default store."""

# os.path, not pathlib: this runs at the start of every recorded program, and importing pathlib takes 3 ms.

from __future__ import annotations

import os

RULE_FILE = "autochron.toml"
PROJECT_FILE = "pyproject.toml"
STORE = os.path.join(".autochron", "traces.db")


def find_rule_file(start: str | os.PathLike[str] | None = None) -> str | None:
    """Find the nearest rule file in a folder and its parents.

    In one folder `autochron.toml` wins over a `pyproject.toml` with a `[tool.autochron]` table.

    Args:
        start: the folder, or a file in it; it need not exist. Default the working folder.

    Returns:
        The absolute path, or None where there is no rule file.
    """
    folder = os.path.abspath(start if start is not None else os.curdir)
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    while True:
        rule_file = os.path.join(folder, RULE_FILE)
        if os.path.isfile(rule_file):
            return rule_file
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
    """Return the absolute path of the default store, `.autochron/traces.db`.

    Args:
        rule_file: the rule file that it lies beside; None where there is none.
        folder: the folder that it lies in without a rule file; default the working folder.
    """
    if rule_file is not None:
        return os.path.join(os.path.dirname(os.path.abspath(rule_file)), STORE)
    return os.path.join(os.path.abspath(folder if folder is not None else os.curdir), STORE)


def _has_table(path: str) -> bool:
    """Return whether a pyproject.toml has a `[tool.autochron]` table. It is parsed only if a line looks like one."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return False
    if b"autochron" not in data or not any(_may_open(line) for line in data.splitlines()):
        return False
    import tomli  # lazy: most programs have no such file, and the import takes 2 to 8 ms

    try:
        tool = tomli.loads(data.decode()).get("tool")
    except ValueError:
        # It names autochron and is broken. Reading it as rules raises an error that says where.
        return True
    return isinstance(tool, dict) and "autochron" in tool


def _may_open(line: bytes) -> bool:
    """Return whether a line may open the table: `[tool.autochron`, `[tool]`, `tool.autochron = {`, or one with quotes."""
    bare = line.strip().translate(None, b" \t\"'[")
    return bare.startswith((b"tool.autochron", b"tool]", b"tool="))
