"""docs/reference/rule-file.md has each key that the loader knows; its examples load, and its mistakes are refused."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from autochron.errors import RuleError
from autochron.rules import ambients, boundaries, redaction, rulefile, sources
from autochron.rules.loading import load_rules

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "rule-file.md").read_text("utf-8")
TABLES = {
    "The top of the file": rulefile.KEYS,
    "`[[boundary]]`": boundaries.KEYS,
    "`meta` of a boundary": boundaries.META_KEYS,
    "`[[boundary]]` of an ambient value": ambients.KEYS,
    "`[[trace]]`": rulefile.TRACE_KEYS,
    "`[[source]]`": sources.KEYS,
    "`[[ignore]]`": rulefile.IGNORE_KEYS,
    "`[[snapshot]]`": rulefile.SNAPSHOT_KEYS,
    "`[[effect]]`": rulefile.EFFECT_KEYS,
    "`[[output]]`": rulefile.OUTPUT_KEYS,
    "`[redact]`": redaction.REDACT_KEYS,
}
TYPES = {
    "text": "text",
    "texts": "array of texts",
    "text or texts": "text or array of texts",
    "flag": "boolean",
    "integer": "integer",
    "conditions": "table, or array of tables",
    "table": "table",
    "tables": "array of tables",
    "flag or tables": "boolean, or array of tables",
}
WHOLE = {
    "`[[boundary]]`": {"name": '"x"', "kind": '"tool"', "target": '"shop.tools:refund"'},
    "`meta` of a boundary": {"name": '"x"', "kind": '"model"', "target": '"shop.llm:ask"'},
    "`[[boundary]]` of an ambient value": {
        "kind": '"ambient"',
        "call": '"time.time"',
        "site": '"agent.py:3"',
    },
    "`[[trace]]`": {"target": '"app:handle"'},
    "`[[source]]`": {"call": '"acme.clock.now"', "category": '"clock"'},
    "`[[ignore]]`": {"call": '"time.time"', "site": '"agent.py:3"', "reason": '"r"'},
    "`[[snapshot]]`": {"path": '"pay.db"'},
    "`[[effect]]`": {"program": '"git"', "reason": '"r"'},
    "`[[output]]`": {"pattern": '"took [0-9.]+ s"', "reason": '"r"'},
    "`[redact]`": {},
}
"""The keys of a table of each kind that can be loaded. An example is one more key, or stands in the place of one."""

SELECTORS = ("target", "define", "decorated", "call", "http")
WITH = {"exclude": ("define", '"shop.tools:*"'), "within": ("call", '"TOOLS[$tool](...)"')}
"""The selectors that some keys go with."""


class Row(NamedTuple):
    """A line of a TOML table that the page shows, and in which section."""

    section: str
    written: str
    message: str = ""


def section(title):
    """Return the text of a section up to the next heading of a table."""
    titles = "|".join(re.escape(name) for name in TABLES if name != title)
    return re.split(rf"^#+ (?:{titles})$", PAGE.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[
        0
    ]


def rows(title, head):
    """Return the cells of the rows of the only table of a section with a heading, without code marks."""
    (table,) = re.findall(rf"^\| {head} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", section(title), re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|\n").split(" | ")] for row in table.splitlines()]


def bare(cell):
    return cell.strip().removeprefix("`").removesuffix("`")


EXAMPLES = [Row(title, bare(row[3])) for title in TABLES for row in rows(title, "key")]
MISTAKES = [Row(title, bare(row[0]), row[1]) for title in TABLES for row in rows(title, "written")]


def document(row):
    """Return a rule file with the line, and with what makes its table a whole one."""
    key = row.written.partition("=")[0].strip()
    left_out = re.fullmatch(r"\(no `(\w+)`\)", row.written)
    if row.section == "The top of the file":
        return "" if left_out else "\n".join([*(() if key == "version" else ("version = 1",)), row.written])
    keys = dict(WHOLE[row.section])
    if row.section == "`[[boundary]]`":
        for name in SELECTORS if key in (*SELECTORS, *WITH) else ():
            keys.pop(name, None)
        keys |= dict([WITH[key]]) if key in WITH else {}
    if row.section == "`[[effect]]`" and key in ("host", "path"):
        del keys["program"]
    if row.section == "`[[source]]`" and key == "position":
        keys["determined_by"] = '"at"'
    keys.pop(left_out[1] if left_out else key, None)
    written = f"meta = {{ {row.written} }}" if row.section.startswith("`meta`") else row.written
    head = re.search(r"\[+\w+\]+", row.section.replace("`meta` of a boundary", "[[boundary]]"))[0]
    lines = [f"{name} = {value}" for name, value in keys.items()]
    return "\n".join(["version = 1", head, *lines, *(() if left_out else (written,))])


@pytest.fixture
def load(tmp_path):
    """Return a function that loads a rule file of an incident's folder."""
    folder = tmp_path / "incidents" / "refund"
    (folder / "src").mkdir(parents=True)
    (folder / "agent.py").touch()
    (folder / "pay.db").touch()

    def loaded(text):
        (folder / "autochron.toml").write_text(text, "utf-8")
        return load_rules(folder / "autochron.toml")

    return loaded


@pytest.mark.parametrize("title", TABLES)
def test_a_section_has_the_keys_that_the_loader_knows(title):
    keys = TABLES[title]
    shown = {bare(name): (kind, default == "required") for name, kind, default, *_ in rows(title, "key")}
    assert shown == {name: (TYPES[key.form], key.is_required) for name, key in keys.items()}


@pytest.mark.parametrize("title", TABLES)
def test_each_key_has_an_example_and_a_mistake_of_its_own(title):
    examples = [row.written.partition("=")[0].strip() for row in EXAMPLES if row.section == title]
    assert examples == [bare(row[0]) for row in rows(title, "key")]
    mistaken = {
        re.split(r"[ =`]+", row.written.removeprefix("(no `"))[0] for row in MISTAKES if row.section == title
    }
    assert mistaken == set(TABLES[title])


@pytest.mark.parametrize("row", EXAMPLES, ids=lambda row: row.written)
def test_an_example_is_loaded(row, load):
    assert load(document(row)).file


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row.written)
def test_a_mistake_is_refused_with_the_message_of_the_page(row, load):
    with pytest.raises(RuleError) as refused:
        load(document(row))
    place, _, message = refused.value.message.partition(": ")
    assert re.fullmatch(r"autochron\.toml:\d+", place)
    assert row.message.replace("\\|", "|") == message


@pytest.mark.parametrize("text", re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
def test_a_rule_file_of_the_page_is_loaded(text, load):
    rules = load(text)
    assert rules.boundaries or rules.ambients or rules.sources


def test_the_selectors_and_kinds_are_all_named():
    from autochron.model import KINDS
    from autochron.rules.boundaries import CODECS
    from autochron.rules.selectors import SELECTORS as KNOWN

    assert set(KNOWN) == set(SELECTORS)
    cells = {bare(row[0]): row[4] for row in rows("`[[boundary]]`", "key")}
    assert [kind for kind in KINDS if f"`{kind}`" not in cells["kind"]] == []
    assert [codec for codec in CODECS if f"`{codec}`" not in cells["codec"]] == []


@pytest.mark.parametrize("pattern", re.findall(r"^\| `(shop[^`]+)` \| ", PAGE, re.MULTILINE))
def test_a_pattern_of_definitions_is_valid(pattern, load):
    assert load(document(Row("`[[boundary]]`", f'define = "{pattern}"'))).boundaries
