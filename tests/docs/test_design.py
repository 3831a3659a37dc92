"""docs/design.md agrees with the code on commands, rules, layers and tests. What it marks as planned doesn't exist yet."""

import contextlib
import io
import re
import tomllib
from pathlib import Path

import pytest

import autochron
from autochron import cli, ports
from autochron.cli.pages import draw
from autochron.cli.reference import command_pages
from autochron.errors import StoreError
from autochron.rules import boundaries
from autochron.rules.loading import load_rules
from autochron.store import open_store

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "design.md").read_text("utf-8")
PLANNED = "**planned**"
COMMAND = re.compile(r"autochron (\w+)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
TEST = re.compile(r"`(tests/[\w./-]+)`")
WORDS = (
    "rule site match boundary crossing outcome envelope lane trace plan cut-point divergence finding effect"
    " snapshot verdict incident"
).split()


def section(title):
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def block(beginning):
    """Return the only block of plain text with a beginning."""
    (text,) = [text for text in blocks("text") if text.startswith(beginning)]
    return text


def synopses():
    """Return each command of the synopsis with its part of the synopsis."""
    return [
        (COMMAND.match(part)[1], part)
        for part in re.split(r"^(?=autochron )", block("autochron run"), flags=re.MULTILINE)[1:]
    ]


def marked():
    """Return each command that the text names, and whether it is marked as planned there."""
    text = re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    return [
        (name, bool(mark)) for name, mark in re.findall(r"`autochron ([a-z]+)[^`]*`( \*\*planned\*\*)?", text)
    ]


def call(*words):
    """Return a command's exit status and all of its output."""
    output = io.StringIO()
    with (
        pytest.raises(SystemExit) as ended,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        cli.main(words)
    return ended.value.code, output.getvalue()


def items(title):
    """Return the numbered items of a section by their number."""
    parts = re.split(r"^(\d+)\. ", section(title), flags=re.MULTILINE)[1:]
    return {int(number): text for number, text in zip(parts[::2], parts[1::2], strict=True)}


# --- commands ---------------------------------------------------------------------------------------------------------


BUILT = [name for name, _ in synopses()]
UNBUILT = sorted({name for name, is_planned in marked() if is_planned})


def test_a_command_is_built_or_planned():
    assert sorted({name for name, is_planned in marked() if not is_planned}) == sorted(BUILT)
    assert section("Commands").count(f"` {PLANNED}") == len(UNBUILT)
    assert sorted(BUILT) == sorted(cli._COMMANDS)


@pytest.mark.parametrize(("name", "synopsis"), synopses(), ids=BUILT)
def test_a_command_exists_with_its_options(name, synopsis):
    status, output = call(name, "--help")
    assert (status, output.partition(" ")[0]) == (0, "usage:")
    output += "".join(
        draw(page) for page in command_pages() if page.name.startswith(f"{name} ")
    )  # its actions
    shown = OPTION.findall(synopsis)
    assert shown
    assert [option for option in shown if option not in OPTION.findall(output)] == []


@pytest.mark.parametrize("name", UNBUILT)
def test_a_planned_command_is_unknown(name):
    status, output = call(name, "--help")
    assert (status, output.partition(";")[0]) == (2, f"autochron: there is no command {name!r}"), (
        f"take the mark off `autochron {name}`, and put it into the synopsis"
    )


# --- what else is planned ---------------------------------------------------------------------------------------------


def test_a_planned_store_is_refused():
    assert f"A PostgreSQL store (`postgresql://…`) {PLANNED}" in PAGE
    with pytest.raises(StoreError, match="is no store that autochron knows"):
        open_store("postgresql://localhost/traces")


def test_the_ports_that_the_page_names_exist():
    (line,) = re.findall(r"- `ports.py` holds the protocols between stages: (.*)", PAGE)
    names = re.findall(r"`(\w+)`", line) + re.findall(r"`(\w+)` port\b", PAGE)
    assert {name: hasattr(ports, name) for name in names} == dict.fromkeys(names, True)
    assert {"Replayer", "Record"} < set(names)


# --- words, layers, rules, Python -------------------------------------------------------------------------------------


def test_a_word_is_defined_once():
    assert re.findall(r"^\| (.*?) \| ", section("Words"), re.MULTILINE) == ["term", *WORDS]


def test_the_layers_are_those_that_are_enforced():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (layers,) = [contract["layers"] for contract in contracts if contract["id"] == "layers"]
    assert block("(__main__)").splitlines() == layers


def test_each_package_or_module_that_is_named_exists():
    named = re.findall(r"`([a-z_]+)/`", section("Data flows one way"))
    top = {path.name for path in ROOT.iterdir()}
    inside = {path.name for path in (ROOT / "autochron").iterdir()}
    assert len(named) > 20
    assert [name for name in named if name not in top | inside] == []


def test_the_protocols_between_stages_exist():
    (line,) = re.findall(r"`ports.py` holds the protocols between stages: (.*)\.", PAGE)
    names = re.findall(r"`(\w+)`", line)
    assert names
    assert [name for name in names if not hasattr(ports, name)] == []


def test_the_rules_can_be_loaded(tmp_path):
    (text,) = blocks("toml")
    (tmp_path / "src").mkdir()
    (tmp_path / "agent.py").touch()
    (tmp_path / "autochron.toml").write_text(text)
    rules = load_rules(tmp_path / "autochron.toml")
    # The loaded tables are counted, so that a table that the loader skips is noticed.
    tables = (
        rules.boundaries,
        rules.ambients,
        rules.traces,
        rules.ignores,
        rules.effects,
        rules.outputs,
        rules.snapshots,
    )
    assert [len(table) for table in tables] == [5, 1, 1, 1, 1, 1, 1]
    assert len(re.findall(r"^\[\[\w+\]\]", text, re.MULTILINE)) == 12
    assert (rules.redact.names, rules.ambient) == (("desk_code",), ("clock",))


def test_the_keys_of_a_boundary_are_known():
    cells = re.findall(r"^\| (`.*?`) \| ", section("Rules"), re.MULTILINE)
    keys = [key for cell in cells for key in re.findall(r"`(\w+)", cell)]
    assert sorted(keys) == sorted(
        {*boundaries.KEYS} - {"name", "kind", "exclude", "within", *boundaries.SELECTORS}
    )


def test_the_python_uses_everything_that_the_package_offers():
    text = "".join(blocks("python"))
    compile(text, "design.md", "exec")
    assert sorted(set(re.findall(r"\bautochron\.(\w+)\(", text))) == sorted(autochron.__all__)


# --- tests ------------------------------------------------------------------------------------------------------------


def test_each_test_that_is_named_exists():
    paths = TEST.findall(PAGE)
    assert len(paths) > 60
    texts = {path: (ROOT / path).read_text("utf-8") if (ROOT / path).is_file() else "" for path in paths}
    assert [
        path for path, text in texts.items() if not re.search(r"^(async )?def test_", text, re.MULTILINE)
    ] == []


@pytest.mark.parametrize(
    ("title", "count", "planned"),
    [("What replay means, case by case", 15, []), ("Guarantees", 10, [])],
    ids=["cases", "guarantees"],
)
def test_a_case_or_guarantee_has_tests_unless_it_is_planned(title, count, planned):
    numbered = items(title)
    assert list(numbered) == list(range(1, count + 1))
    assert [
        number for number, text in numbered.items() if re.match(rf"\*\*.*?\*\* {re.escape(PLANNED)}", text)
    ] == planned
    assert [number for number, text in numbered.items() if not TEST.search(text)] == planned
