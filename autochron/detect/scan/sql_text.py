"""Find in the text of SQL statements what the database asks of its own clock or draws by chance.

No watch can see it: the database does it in C, or on another machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_NOW = re.compile(r"'\s*(?:now|today|yesterday|tomorrow)\s*'", re.IGNORECASE)
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


def _blank(match: re.Match[str]) -> str:
    return "''" if match[0].startswith(("'", '"', "`")) else " "


def _without_comments(statement: str) -> str:
    return _QUOTED.sub(lambda match: match[0] if match[0].startswith(("'", '"', "`")) else " ", statement)
