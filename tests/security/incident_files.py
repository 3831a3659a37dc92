"""A small agent that obeys a model, a trace with one hostile text everywhere, and a check of its incident's files."""

import ast

import tomli
from msgspec import structs
from msgspec.json import encode

from autochron.model import Raised
from tests.security.pages import rendered

RULES = 'version = 1\npacks = []\n\n[[boundary]]\nname = "{tool}"\nkind = "tool"\ndefine = "agent:act"\n'
AGENT = """
import json

def act(tool, text):
    return {"did": text}

chosen = json.loads(open("model.json").read())
print(len(act(chosen["tool"], chosen["text"])["did"]))
"""
ELEMENTS = ("h1", "h2", "p", "pre", "code", "table", "thead", "tbody", "tr", "th", "td", "ul", "li")
LINK = [("a", [("href", "trace.jsonl")])]
"""The one link that the README has."""


def check_files(folder, test):
    """Check that the test, the rules and the page of an incident contain only the intended structure.

    The test has one function of two statements, the rules have their four keys, and the page has no unexpected element.
    """
    tree = ast.parse((folder / test).read_bytes())
    assert [type(statement).__name__ for statement in tree.body] == ["Expr", "Import", "FunctionDef"]
    function = tree.body[2]
    assert [type(statement).__name__ for statement in function.body] == ["Expr", "Expr"]
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
    assert rendered((folder / "README.md").read_text("utf-8"), *ELEMENTS).other == LINK


def doctored(trace, text):
    """Return a copy of a trace with a text in each place that an author of traces controls."""
    envelopes = [
        structs.replace(
            envelope,
            name=text or "x",
            site=f"@agent.py:{text}",
            lane=text or "0",
            input=b'{"tool":%s}' % encode(text),
            outcome=Raised(b'{"$error":%s,"args":[%s]}' % (encode(text), encode(text))),
        )
        for envelope in trace.envelopes
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
