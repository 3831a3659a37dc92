"""Whatever a trace holds, the files of its incident say what they are made to say."""

import ast
import os
import re

import pytest
import tomli
from msgspec import structs

from autochron.errors import AutochronError
from autochron.model import Raised
from autochron.report.traces import draw_trace
from autochron.rules import load_rules
from autochron.session import incidents
from autochron.store.tracefile import read_trace, write_trace
from autochron.store.whole import WholeRecord
from tests.cli.processes import autochron as command
from tests.cli.processes import python, write
from tests.incidents.verdicts import PLUGINS
from tests.security.hostile import HOSTILE
from tests.security.test_escaping import rendered

RULES = 'version = 1\npacks = []\n\n[[boundary]]\nname = "{tool}"\nkind = "tool"\ndefine = "agent:act"\n'
AGENT = """
import json

def act(tool, text):
    return {"did": text}

chosen = json.loads(open("model.json").read())
print(len(act(chosen["tool"], chosen["text"])["did"]))
"""
ELEMENTS = ("h1", "h2", "p", "pre", "code", "table", "thead", "tbody", "tr", "th", "td", "ul", "li")


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """Give a folder with a recorded agent."""
    folder = tmp_path_factory.mktemp("agent")
    write(
        folder, {"agent.py": AGENT, "autochron.toml": RULES, "model.json": '{"tool": "refund", "text": "x"}'}
    )
    for words in (["run", "agent.py"], ["traces", "export", "last", "plain.jsonl"]):
        done = command(folder, *words)
        assert done.status == 0, done.said
    return folder


def check_files(folder, test):
    """The test has one function of two statements, the rules their root, and the page no element of anyone else's."""
    tree = ast.parse((folder / test).read_bytes())
    assert [type(each).__name__ for each in tree.body] == ["Expr", "Import", "FunctionDef"]
    function = tree.body[2]
    assert [type(each).__name__ for each in function.body] == ["Expr", "Expr"]
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert calls <= {
        "pytest.mark.autochron",
        "replay.run",
        "replay.call",
        "pytest.fail",
        "replay.assert_not_reproduced",
    }
    assert set(tomli.loads((folder / "autochron.toml").read_text("utf-8"))) == {
        "version",
        "root",
        "packs",
        "boundary",
    }
    assert rendered((folder / "README.md").read_text("utf-8"), *ELEMENTS).other == []


def doctored(trace, text):
    """Put a text wherever a trace holds one that others choose."""
    envelopes = [
        structs.replace(
            each,
            name=text or "x",
            site=f"@agent.py:{text}",
            lane=text or "0",
            input=b'{"tool":%s}' % incidents_json(text),
            outcome=Raised(b'{"$error":%s,"args":[%s]}' % (incidents_json(text), incidents_json(text))),
        )
        for each in trace.envelopes
    ]
    header = structs.replace(
        trace.header,
        name=text,
        created=text,
        python=text,
        autochron=text,
        command=structs.replace(trace.header.command, target=text, arguments=(text, text)),
    )
    footer = structs.replace(trace.footer, error=text or None, unwoven_tools=(text,), declined_tools=(text,))
    return structs.replace(trace, header=header, envelopes=tuple(envelopes), footer=footer)


def incidents_json(text):
    """A JSON string."""
    from msgspec.json import encode

    return encode(text)


def written(wanted, tree):
    """Write an incident; give it, or why it was refused."""
    try:
        return incidents.write(wanted, tree), ""
    except AutochronError as error:
        return None, str(error)


@pytest.mark.parametrize("mode", ["script", "block"])
@pytest.mark.parametrize(
    "text", [each for each in HOSTILE if "\ud800" not in each], ids=lambda text: ascii(text[:12])
)
def test_an_incident_of_a_hostile_trace_says_what_it_should(agent, tmp_path, text, mode, monkeypatch):
    monkeypatch.chdir(agent)
    trace = doctored(read_trace(str(agent / "plain.jsonl")), text)
    command = structs.replace(trace.header.command, mode=mode)
    trace = structs.replace(trace, header=structs.replace(trace.header, command=command))
    write_trace(trace, str(tmp_path / "hostile.jsonl"))
    record = WholeRecord(read_trace(str(tmp_path / "hostile.jsonl")))
    for live in (("kind:tool",), ("kind:tool", text)):
        folder = tmp_path / f"incident{len(live)}"
        wanted = incidents.Wanted(
            record, load_rules(str(agent / "autochron.toml")), live, None, str(folder), allow_unwoven=True
        )
        tree = draw_trace(record, record.get, None).lines()
        made, refused = written(wanted, tree)
        if made is None:
            assert len(live) == 2  # the text is no plan
            assert refused.replace("\n", "").replace("\t", "").isprintable()
            assert not folder.exists()
            continue
        test = os.path.basename(made.test)
        check_files(folder, test)
        volatile = incidents.test_text(wanted, [(text, text), (f"output.{text}", text)])
        assert re.findall(r"^import .*|^    [a-z]\w*\(.*", volatile, re.MULTILINE) == ["import pytest"]
        (folder / test).write_text(volatile, encoding="utf-8")
        check_files(folder, test)
    assert not list(agent.glob("owned*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        HOSTILE[0],
        *(pytest.param(each, marks=pytest.mark.thorough) for each in (HOSTILE[6], HOSTILE[20], "\ud800")),
    ],
    ids=["newline", "call", "terminal", "half"],
)
def test_what_a_model_names_a_tool_runs_nothing(agent, tmp_path, text):
    from json import dumps

    write(
        tmp_path,
        {"agent.py": AGENT, "autochron.toml": RULES, "model.json": dumps({"tool": text, "text": text})},
    )
    done = command(tmp_path, "run", "agent.py")
    assert done.status == 0, done.said
    assert done.said.replace("\n", "").isprintable()
    made = command(tmp_path, "incident", "new", "last", "incidents/one", "--live", "kind:tool", env=PLUGINS)
    assert "Traceback" not in made.said
    folder = tmp_path / "incidents" / "one"
    check_files(folder, "test_one.py")
    ran = python(tmp_path, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "incidents/one", env=PLUGINS)
    assert ran.status == 1, ran.text
    assert not [*tmp_path.rglob("owned*"), *tmp_path.rglob("evil*")]
    shown = command(tmp_path, "traces", "show", "--full", "last")
    assert shown.text.replace("\n", "").replace("\t", "").isprintable()
