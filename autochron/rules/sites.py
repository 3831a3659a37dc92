"""Read the place of a call: a `site` and the `hash` of its line."""

from __future__ import annotations

from autochron._runtime.unpatched import os
from autochron.rules.tables import Table


def read_site(table: Table) -> str:
    """Read `site`: `path:line` or a path, relative to the rules' root."""
    site = table.required("site", "write path:line, such as `shop/agent.py:31`")
    path, colon, line = site.rpartition(":")
    if colon and not (path and line.isdecimal() and int(line)):
        table.refuse("site", f"`site` `{site}` is not of the form path:line")
    named = path if colon else site
    if os.path.isabs(named) or named.startswith("..") or "\\" in named or not named.strip("./"):
        remedy = "write it from the rules' root, with `/`, such as `shop/agent.py:31`"
        table.refuse("site", f"`site` `{site}` names no file of the project; {remedy}")
    return site


def read_hash(table: Table) -> str | None:
    """Read `hash`: the hash of a line, or at least its first 8 digits."""
    line_hash = table.text("hash")
    if line_hash is not None and (len(line_hash) < 8 or set(line_hash) - set("0123456789abcdef")):
        table.refuse("hash", f"`hash` `{line_hash}` is not 8 or more hexadecimal digits")
    return line_hash
