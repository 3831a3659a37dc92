"""The pages of docs/reference on files, Python and the environment name what the code has, and their blocks are valid."""

import ast
import io
import json
import re
import sqlite3
import urllib.request
from dataclasses import fields
from pathlib import Path
from urllib.error import HTTPError

import msgspec
import pytest

import autochron
from autochron import provider
from autochron.cli.overview import VARIABLES
from autochron.cli.statuses import FOUND, INTERRUPTED, MEANINGS, REFUSED, UNMARKED
from autochron.diagnostics.accepted_findings import Accepted, AcceptedFindings
from autochron.model import Checked, Envelope, Finding, Footer, Header, ReplaySummary
from autochron.provider import Call, Script, ScriptError, Step, faults
from autochron.pytest_plugin import MODES
from autochron.pytest_plugin.marks import KEYWORDS, MarkerOptions
from autochron.report.findings import write_checked
from autochron.reproduction.baseline import Baseline
from autochron.store.lines import FORMAT, READ
from autochron.store.schema import APPLICATION, TABLES, VERSION

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
FILES = (FOLDER / "files.md").read_text("utf-8")
PYTHON = (FOLDER / "python.md").read_text("utf-8")
ENVIRONMENT = (FOLDER / "environment.md").read_text("utf-8")
OWN = [page for page in sorted(FOLDER.glob("*.md")) if page.name != "commands.md"]
OWN += sorted((ROOT / "docs" / "explanation").glob("*.md"))


def part(page, title):
    """Return the text of a section without its subsections."""
    return re.split(
        r"^#+ ", re.split(rf"^#+ {title}\n", page, flags=re.MULTILINE)[1], maxsplit=1, flags=re.MULTILINE
    )[0]


def names(text):
    """Return the names in the first column of a table of two columns or more."""
    cells = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


# --- file formats -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "struct"),
    [
        ("Header", Header),
        ("Envelope", Envelope),
        ("Footer", Footer),
        ("Incident", Baseline),
        ("Baseline of `check`", Accepted),
        ("Result of a replay", ReplaySummary),
    ],
)
def test_the_members_of_a_format_are_those_of_the_code(title, struct):
    text = part(FILES, title)
    listed = names(text[text.rindex("| field |") :])
    assert sorted(listed) == sorted(struct.__struct_fields__)
    assert len(listed) == len(set(listed))


def test_the_members_of_findings_are_those_of_the_report():
    report, finding = part(FILES, "Findings").split("Members of one finding")
    stream = io.StringIO()
    write_checked(Checked(findings=()), stream, form="json")
    assert sorted(names(report)) == sorted(json.loads(stream.getvalue()))
    assert sorted(names(finding)) == sorted(Finding.__struct_fields__)


def test_versions_and_numbers_are_those_of_the_code():
    assert f'{{"autochron": {FORMAT}, "header": …}}' in FILES
    assert f"Versions 1 to {FORMAT} are read." in FILES
    assert frozenset(range(1, FORMAT + 1)) == READ
    assert f"`{APPLICATION:#x}`" in FILES
    assert f"which is {VERSION} today" in FILES


def test_the_tables_of_the_store_are_those_of_the_schema():
    with sqlite3.connect(":memory:") as connection:
        connection.executescript(TABLES)
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    connection.close()
    assert set(names(part(FILES, "Store"))) == tables


def test_the_baseline_of_the_page_is_read(tmp_path):
    (text,) = [block for block in blocks(FOLDER / "files.md", "json") if '"accepted"' in block]
    (tmp_path / "accepted.json").write_text(text, "utf-8")
    assert len(AcceptedFindings.read(str(tmp_path / "accepted.json"), str(tmp_path))) == 1


def test_the_trace_file_of_the_repository_is_as_the_page_says():
    lines = (ROOT / "incidents" / "refund" / "trace.jsonl").read_text("utf-8").splitlines()
    assert list(json.loads(lines[0])) == ["autochron", "header"]
    assert list(json.loads(lines[-2])) == ["footer"]
    assert json.loads(lines[-1]).keys() == {"digest", "lines"}
    for line in lines[1:-2]:
        assert json.loads(line).keys() <= {*names(part(FILES, "Envelope"))}


def table(title, column):
    """Return the names of the table of a section whose first column has this title."""
    rows = part(FILES, title).partition(f"| {column} |")[2].partition("\n\n")[0]
    return names(rows)


ANSWERS = "Script of answers"


@pytest.mark.parametrize(
    ("column", "described"),
    [("member of the file", Script), ("member of a step", Step), ("member of a call", Call)],
)
def test_the_keys_of_a_script_of_answers_are_those_of_the_code(column, described):
    assert sorted(table(ANSWERS, column)) == sorted(field.name for field in fields(described))


def test_the_faults_of_a_script_of_answers_are_those_of_the_code():
    first, last, *named = table(ANSWERS, "fault")
    assert sorted(named) == sorted(faults.NAMES)
    for fault in (first, last, *named):
        assert [parsed.name for parsed in faults.parse(f"{fault}*1")] == [fault]
    for beyond in (int(first) - 1, int(last) + 1):
        with pytest.raises(ScriptError, match=f"a status from {first} to {last}"):
            faults.parse(str(beyond))


def test_the_example_of_a_script_answers_as_the_page_says():
    (text,) = [block for block in blocks(FOLDER / "files.md", "json") if '"steps"' in block]
    script = Script.from_data(json.loads(text))
    user = {"role": "user", "content": "Refund 48213"}
    asked = {"role": "assistant", "content": None}
    with provider.serve(script=script, seed=1) as model:

        def answer(*messages, **more):
            body = json.dumps({"model": "m", "messages": messages, **more}).encode()
            request = urllib.request.Request(f"{model.url}/chat/completions", body)
            with urllib.request.urlopen(request) as response:
                return json.load(response)["choices"][0]["message"]

        (call,) = answer(user)["tool_calls"]
        with pytest.raises(HTTPError) as refused:
            answer(user, asked)
        later = answer(user, asked)
        other = answer({"role": "user", "content": "Hello"})
        with pytest.raises(HTTPError) as unsupported:
            answer(user, temperature=0)
    assert json.loads(call["function"]["arguments"]) == {"number": "48213"}
    assert (refused.value.code, unsupported.value.code) == (429, 400)
    refused.value.close()
    unsupported.value.close()
    assert later["content"] in {"Order 48213 is on its way.", "Order 48213 is in the parcel."}
    assert other["content"] == "I can't help with that."


# --- Python -----------------------------------------------------------------------------------------------------------


def test_each_public_name_is_described():
    described = re.findall(r"^\.\. auto(?:class|function):: autochron\.(\w+)\b(?!\.)", PYTHON, re.MULTILINE)
    assert sorted(described) == sorted(autochron.__all__)


def test_what_the_page_describes_exists():
    for name in re.findall(r"^\.\. auto(?:class|function|module):: ([\w.]+)", PYTHON, re.MULTILINE):
        target = msgspec.UNSET
        module, _, attribute = name.rpartition(".")
        target = __import__(name, fromlist="_") if name.endswith((".errors", ".provider")) else None
        target = target or getattr(__import__(module, fromlist="_"), attribute)
        assert target.__doc__, name


def test_the_options_of_the_marker_are_those_of_the_plugin():
    text = part(PYTHON, "The marker")
    assert names(text) == list(KEYWORDS)
    defaults = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", text, re.MULTILINE))
    fields = MarkerOptions.__dataclass_fields__
    assert {name: ast.literal_eval(value) for name, value in defaults.items()} == {
        name: fields[name].default for name in KEYWORDS if name != "rules"
    }


def test_the_modes_of_pytest_are_those_of_the_plugin():
    text = part(PYTHON, "Options of pytest")
    assert re.findall(r"`--autochron=(\w+)`", text) == list(MODES)
    assert "`--autochron-deny=network,files`" in text


SAME = {"mutate merge"}
"""Actions whose statuses are those of the command."""


# --- environment ------------------------------------------------------------------------------------------------------


def test_each_variable_is_read_by_the_code():
    source = "\n".join(file.read_text("utf-8") for file in (ROOT / "autochron").rglob("*.py"))
    listed = names(part(ENVIRONMENT, "Variables that you may set"))
    assert "AUTOCHRON_CACHE" in listed
    assert [name for name in listed if f'"{name}"' not in source] == []


def test_the_variables_of_the_help_are_all_explained():
    assert {name for name, _ in VARIABLES} <= {*names(part(ENVIRONMENT, "Variables that you may set"))}


def test_the_commands_with_a_status_of_their_own_are_those_of_the_help():
    listed = set(names(part(ENVIRONMENT, "Exit statuses").split("For every command")[0]))
    assert (
        listed == {name for name, meanings in MEANINGS.items() if {FOUND, UNMARKED} & meanings.keys()} - SAME
    )
    every = part(ENVIRONMENT, "Exit statuses").split("For every command")[1]
    assert re.findall(r"^\| (\d+) \|", every, re.MULTILINE) == [str(FOUND), str(REFUSED), str(INTERRUPTED)]


def test_no_variable_of_ours_is_missing():
    source = "\n".join(file.read_text("utf-8") for file in (ROOT / "autochron").rglob("*.py"))
    known = set(re.findall(r'"(AUTOCHRON\w*[A-Z])"', source))
    public = set(names(part(ENVIRONMENT, "Variables that you may set"))) & known
    assert known - public == {
        "AUTOCHRON_CHILD",
        "AUTOCHRON_EDGE_INPUTS",
        "AUTOCHRON_FROM_CUT",
        "AUTOCHRON_HASH_SEED",
        "AUTOCHRON_IMPACT_PROBE",
        "AUTOCHRON_LIMIT",
        "AUTOCHRON_OVERLAY",
        "AUTOCHRON_PREPARED",
        "AUTOCHRON_REPLAY_PLAN",
        "AUTOCHRON_REPLAY_REPORT",
        "AUTOCHRON_REPLAY_SCRATCH",
        "AUTOCHRON_REPLAY_SNAPSHOTS",
        "AUTOCHRON_REPLAY_VARIATION",
        "AUTOCHRON_WITNESS",
    }, "a new variable: is it for users, or internal?"


# --- blocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", OWN, ids=lambda page: page.name)
def test_blocks_of_python_and_json_are_valid(page):
    for block in blocks(page, "python"):
        compile(block, page.name, "exec")
    for block in blocks(page, "json"):
        assert json.loads(block)


def test_each_block_has_a_language_that_a_test_knows():
    languages = {
        language: page.name
        for page in OWN
        for language in re.findall(r"^```(\S*)\n(?:.*\n)*?^```$", page.read_text("utf-8"), re.MULTILINE)
    }
    assert set(languages) <= {"python", "json", "toml", "console", "text", "{eval-rst}", "{toctree}"}
    assert {page.name for page in OWN if blocks(page, "toml")} <= {"rule-file.md"}  # its own test loads them
