"""Read what a run says of the tools that it found, and what a refused replay says of those that it didn't."""

import re

REFUSED = ("(unwoven-tool)", "(unconfirmed-tool)")
"""The slugs of what a replay refuses."""


def refused_lines(text):
    """Return the lines of a run's report about tools for which a replay is refused."""
    return [line for line in text.splitlines() if line.endswith(REFUSED)]


def mentions(line, name):
    """Return whether a line has a tool's name as a whole word."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line) is not None


def way_told(text, name):
    """Return how a run says that it found a tool, `name` or `value`; None if it doesn't."""
    tool, way = rf"(?<![\w-]){re.escape(name)}(?![\w-])", r"\bby (name|value)\b"
    found = re.search(rf"{tool}.*?{way}|{way}.*?{tool}", text)
    return found and (found[1] or found[2])


def tables_in(text):
    """Return the tables that a message says are missing, as TOML."""
    tables, is_inside = [], False
    for line in map(str.strip, text.splitlines()):
        is_inside = line.startswith("[[") or (is_inside and bool(re.match(r"[\w.-]+ *=|[\]\"'}#]", line)))
        tables += [line] if is_inside else []
    return "".join(f"{line}\n" for line in tables)


def choices_in(text):
    """Return the tables that a message has as comments: the user writes the right one of them."""
    lines = [line.removeprefix("# ") for line in map(str.strip, text.splitlines()) if line.startswith("# ")]
    kept = [line for line in lines if line.startswith("[[") or re.match(r"\w+ = ", line)]
    return re.findall(r"\[\[boundary\]\]\n(?:\w+ = .*\n)+", "".join(f"{line}\n" for line in kept))


def filled_in(text):
    """Return the tools that a run says are types of data."""
    return [
        name
        for names in re.findall(r"^  filled in: (.*): a type", text, re.MULTILINE)
        for name in names.split(", ")
    ]
