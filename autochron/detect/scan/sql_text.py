"""Find in the text of SQL statements what the database asks of its own clock or draws by chance.

No watch can see it: the database does it in C, or on another machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from autochron.model import Category

STATEMENTS = frozenset(
    {
        "execute", "executemany", "executescript", "exec_driver_sql", "read_sql", "read_sql_query", "sql", "text", "scalar",
        "scalars", "fetch", "fetchrow", "fetchval", "fetch_all", "fetch_one", "fetch_val", "iterate", "stream", "mogrify",
        "DDL", "query", "query_df", "run_query", "execute_async", "execute_fetchall",
        "execute_insert", "read_database", "raw", "from_statement",
    }
)  # fmt: skip
"""Last names of callables that take a statement of SQL as their first argument."""

_STATEMENT = re.compile(
    r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*|\(\s*)*(?:select|insert|update|delete|replace|create|alter|with|values|merge|call|explain|"
    r"set|do|pragma|upsert)\b",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`", re.DOTALL)
_NOW = re.compile(
    r"(?:\b(?:date|time|datetime|julianday|strftime|unixepoch|timediff|timestamp|timestamptz|cast|todatetime|interval)\b\s*\(?[^()=]*)"
    r"'\s*(?:now|today|yesterday|tomorrow)\s*'|'\s*(?:now|today|yesterday|tomorrow)\s*'\s*::",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"\b(current_timestamp|current_date|current_time|localtimestamp|sysdate|systimestamp|sysdatetime|clock_timestamp|"
    r"statement_timestamp|transaction_timestamp|utc_timestamp|utc_date|utc_time|getdate|getutcdate|curdate|curtime|timeofday)\b|"
    r"\b(now|unixepoch|unix_timestamp|datetime|julianday|today)\s*\(\s*\)",
    re.IGNORECASE,
)
_CHANCE = re.compile(
    r"\b(random|rand|randomblob|newid|newsequentialid|gen_random_uuid|gen_random_bytes|uuid_generate_v1|uuid_generate_v4|uuid|"
    r"uuidv4|uuidv7|random_normal|generate_uuid|sys_guid)\s*\(|\b(tablesample)\b",
    re.IGNORECASE,
)
_MACHINE = re.compile(
    r"\b(?:sqlite_version|version|pg_backend_pid|current_user|session_user|hostname)\s*\(\s*\)", re.IGNORECASE
)
_WITH_ARGUMENTS = re.compile(r"\b(?:rand|uuid)\s*\(\s*[^\s)]", re.IGNORECASE)
"""A seed, or a text that is read as an identifier: such a call is determined."""


def chance_in(statement: str) -> Iterator[tuple[Category, str]]:
    """Yield the category and the name of what a statement asks of the clock or of chance; nothing if it is no SQL."""
    if not _STATEMENT.match(statement):
        return
    bare = _QUOTED.sub(_blank, statement)
    clock = _CLOCK.search(bare)
    if clock is not None:
        yield "clock", f"sql.{(clock[1] or clock[2]).lower()}"
    elif _NOW.search(_without_comments(statement)):
        yield "clock", "sql.now"
    if _MACHINE.search(bare):
        yield "host", "sql.version"
    for match in _CHANCE.finditer(bare):
        if not _WITH_ARGUMENTS.match(bare, match.start()):
            yield "random", f"sql.{(match[1] or match[2]).lower()}"
            break


_EVERY_COLUMN = re.compile(r"(?<!count\()\*|\breturning\b|\btable_info\b", re.IGNORECASE)
"""What reads the columns of a table without their names."""
_CREATED = re.compile(
    r"create\s+(?:temp(?:orary)?\s+)?(?:materialized\s+)?(table|view|trigger)\s+(?:if\s+not\s+exists\s+)?[\"`\[]?(\w+)[\"`\]]?",
    re.IGNORECASE,
)
_TRIGGERED = re.compile(
    r"\b(insert|update|delete)\b(?:\s+of\s+[\w\s,]+?)?\s+on\s+[\"`\[]?(\w+)", re.IGNORECASE
)
_DEFAULT = re.compile(r"[\"`\[]?(\w+)[\"`\]]?\s+[^,]*?\bdefault\b(.*)", re.IGNORECASE | re.DOTALL)
_USES = {
    "table": r"\binsert\s+(?:or\s+\w+\s+)?into\s+[\"`\[]?{name}\b",
    "view": r"\b(?:from|join)\s+[\"`\[]?{name}\b",
    "insert": r"\binsert\s+(?:or\s+\w+\s+)?into\s+[\"`\[]?{name}\b",
    "update": r"\bupdate\s+(?:or\s+\w+\s+)?[\"`\[]?{name}\b",
    "delete": r"\bdelete\s+from\s+[\"`\[]?{name}\b",
}
"""What of a statement uses a table, a view, or a table with a trigger."""


class Schema:
    """The tables, views and triggers that a module creates and that ask for something by themselves."""

    def __init__(self, texts: Iterable[str], *, is_private: bool = False) -> None:
        """Take the texts of a module, and whether its databases end with the process."""
        texts = list(texts)
        self._unread = _given_columns(texts) | _unread_columns(texts) if is_private else set()
        self._uses: list[tuple[re.Pattern[str], str | None, Category, str]] = []
        for text in texts:
            if "create" in text.lower():
                for statement in re.split(r";(?!\s*end\b)", text, flags=re.IGNORECASE):
                    self._add(statement)

    def _add(self, statement: str) -> None:
        created = _CREATED.search(statement)
        if created is None:
            return
        kind, name = created[1].lower(), created[2]
        if kind == "trigger":
            event = _TRIGGERED.search(statement)
            if event is None:
                return
            kind, name = event[1].lower(), event[2]
        pattern = re.compile(_USES[kind].format(name=re.escape(name)), re.IGNORECASE)
        columns = _columns(statement) if kind == "table" else [(None, statement)]
        for column, text in columns:
            if column in self._unread:
                continue
            for category, call in chance_in(text if column is None else f"select {text}"):
                self._uses.append((pattern, column, category, call))

    def is_unread(self, statement: str) -> bool:
        """Return whether a statement creates a table that asks for something only for columns which nothing reads."""
        created = _CREATED.search(statement)
        if created is None or created[1].lower() != "table":
            return False
        asking = [column for column, text in _columns(statement) if any(chance_in(f"select {text}"))]
        return bool(asking) and self._unread.issuperset(asking)

    def asked_by(self, statement: str) -> Iterator[tuple[Category, str]]:
        """Yield the category and the name of what the database asks for a statement because of what it uses."""
        for pattern, column, category, call in self._uses:
            match = pattern.search(statement)
            if match is None:
                continue
            given = re.match(r"\s*[\"`\]]?\s*\(([^)]*)\)", statement[match.end() :])
            if column is None or given is None or not re.search(rf"\b{column}\b", given[1], re.IGNORECASE):
                yield category, call


def _given_columns(texts: list[str]) -> set[str]:
    """Return the columns with a default to which each row that a module inserts gives a value, where it inserts some."""
    given: dict[str, list[bool]] = {}
    for text in texts:
        created = _CREATED.search(text)
        if created is None or created[1].lower() != "table":
            continue
        inserts = re.compile(_USES["table"].format(name=re.escape(created[2])), re.IGNORECASE)
        for column, _ in _columns(text):
            for statement in texts:
                match = inserts.search(statement)
                if match is not None:
                    named = re.match(r"\s*[\"`\]]?\s*\(([^)]*)\)", statement[match.end() :])
                    is_given = named is not None and re.search(rf"\b{column}\b", named[1], re.IGNORECASE)
                    given.setdefault(column, []).append(bool(is_given))
    return {column for column, each in given.items() if all(each)}


def _unread_columns(texts: list[str]) -> set[str]:
    """Return the columns with a default that no text of a module reads."""
    created = {text for text in texts if _CREATED.search(text)}
    columns = {column for text in created for column, _ in _columns(text)}
    others = [text for text in texts if text not in created]
    if any(_EVERY_COLUMN.search(text) for text in others):
        return set()
    words = {word.lower() for text in others for word in re.findall(r"\w+", text)}
    # One that is named twice in its own table may be part of a key, an index or a trigger.
    return {
        column
        for column in columns
        if column.lower() not in words
        and sum(len(re.findall(rf"\b{column}\b", text, re.IGNORECASE)) for text in created) == 1
    }


def _columns(statement: str) -> Iterator[tuple[str, str]]:
    """Yield each column of a table that has a default, with the text of the default."""
    depth, start, parts = 0, statement.find("(") + 1, []
    for place in range(start, len(statement)):
        character = statement[place]
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        if depth < 0 or (character == "," and not depth):
            parts.append(statement[start:place])
            start = place + 1
        if depth < 0:
            break
    for part in parts:
        column = _DEFAULT.match(part.strip())
        if column is not None:
            yield column[1], column[2]


def _blank(match: re.Match[str]) -> str:
    return "''" if match[0].startswith(("'", '"', "`")) else " "


def _without_comments(statement: str) -> str:
    return _QUOTED.sub(lambda match: match[0] if match[0].startswith(("'", '"', "`")) else " ", statement)
