"""Chronicle's fixtures become traces; what they lack is opaque and told."""

import json
import os

import pytest

from autochron.adopt.fixtures import read_fixtures
from autochron.cli.traces import traces
from autochron.envelope import codec
from autochron.errors import AdoptionError, OpaqueError, UsageError
from autochron.model import Raised
from autochron.rules.loading import load_rules
from autochron.store import open_store

TRACE = "529e1a6814bd092a9a1ef254b64785a5"


def span(number, name, kind="tool", **more):
    """Return an envelope as Chronicle 0.5 writes it."""
    return {
        "schema_version": "2.0",
        "envelope_id": f"{number:016x}",
        "trace_id": TRACE,
        "name": name,
        "kind": kind,
        "parent_envelope_id": None,
        "sequence": number,
        "invocation_index": 1,
        "start_time": f"2026-09-20T15:02:{number:02d}.000000Z",
        "end_time": f"2026-09-20T15:02:{number:02d}.500000Z",
        "status": {"code": "UNSET", "message": None},
        "input": {"arguments": {"order": "9"}, "messages": []},
        "output": {"value": None, "llm": None},
        "attributes": {"chronicle.trace.name": "incident-1"},
        **more,
    }


def export(folder, *spans):
    """Write a folder as Chronicle's `export_trace` does."""
    os.makedirs(folder, exist_ok=True)
    nodes = []
    for number, each in enumerate(spans, 1):
        name = f"{number:03d}-{each['name']}-{each['invocation_index']}.json"
        (folder / name).write_text(json.dumps(each, indent=2))
        nodes.append({"envelope_id": each["envelope_id"], "name": each["name"], "fixture": name})
    graph = {
        "trace_id": TRACE,
        "attributes": {"chronicle.trace.name": "incident-1"},
        "spans": nodes,
        "nodes": nodes,
    }
    (folder / "graph.json").write_text(json.dumps({**graph, "edges": [], "roots": []}))
    return folder


def imported(folder, *spans):
    (result,) = read_fixtures(str(export(folder, *spans)), load_rules(None), "0.1")
    return result


def value_of(envelope):
    return codec.decode(
        envelope.outcome.error if isinstance(envelope.outcome, Raised) else envelope.outcome.value
    )


def test_names_order_parents_times_and_facts_are_kept(tmp_path):
    llm = {
        "text": "ok",
        "tool_calls": [{"id": "1", "name": "refund", "arguments": {}}],
        "usage": {"input_tokens": 3, "output_tokens": None},
    }
    facts = {"gen_ai.request.model": "small", "gen_ai.request.temperature": 0.5}
    inner = span(
        2, "llm", "llm", parent_envelope_id=f"{3:016x}", output={"value": None, "llm": llm}, attributes=facts
    )
    outer = span(
        3,
        "agent",
        "custom",
        start_time="2026-09-20T15:02:01Z",
        output={"value": {"a": [1, None]}, "llm": None},
    )
    trace = imported(tmp_path, inner, outer, span(4, "refund", output={"value": 7})).trace
    assert [
        (each.seq, each.address, each.kind, each.parent, each.started, each.duration)
        for each in trace.envelopes
    ] == [
        (1, "agent[1]", "tool", None, 0, 2_500_000_000),
        (2, "llm[1]", "model", 1, 1_000_000_000, 500_000_000),
        (3, "refund[1]", "tool", None, 3_000_000_000, 500_000_000),
    ]
    assert json.loads(trace.envelopes[1].meta) == {
        "model": "small", "sampling": {"temperature": 0.5}, "usage": {"input_tokens": 3}, "tools": ["refund"],
    }  # fmt: skip
    assert (trace.header.name, trace.header.created) == ("incident-1", "2026-09-20T15:02:01.000Z")
    assert [value_of(trace.envelopes[number]) for number in (0, 2)] == [{"a": [1, None]}, 7]
    assert trace.envelopes[0].arguments == {"order": "9"}


STRING = {"chronicle.output.schema": '{"type": "string"}'}
SERVED = {
    "a number": ({"value": 7}, {}, "tool", 7),
    "None": ({"value": None}, {}, "tool", None),
    "no value": ({}, {}, "tool", None),
    "a dictionary": ({"value": {"$tuple": [1]}}, {}, "custom", {"$tuple": [1]}),
    "a route": ({"value": {"decision": ["a", "b"]}}, {}, "router", ["a", "b"]),
    "a text that the annotation tells": ({"value": "[1]"}, STRING, "tool", "[1]"),
}


@pytest.mark.parametrize("case", SERVED)
def test_what_a_fixture_has_is_served(tmp_path, case):
    output, attributes, kind, value = SERVED[case]
    (envelope,) = imported(tmp_path, span(1, "x", kind, output=output, attributes=attributes)).trace.envelopes
    assert (value_of(envelope), envelope.opaque) == (value, ())


LLM = {"text": "hi", "tool_calls": [], "finish_reason": "stop", "usage": None}
LACKING = {
    "a text of any type": ({"output": {"value": "[1, 2]"}}, "tool", "[1, 2]", "the type of the result is not kept"),
    "a model's result": ({"output": {"value": None, "llm": LLM}}, "llm", '"text":"hi"', "the result is not kept"),
    "a response": ({"output": {"value": {"id": "r"}, "llm": LLM}}, "llm", '"id":"r"', "the type of the response is not kept"),
    "an exception": (
        {"status": {"code": "ERROR", "message": "boom"}, "attributes": {"error.type": "KeyError"}},
        "tool", "boom", "the exception is not kept",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LACKING)
def test_what_a_fixture_lacks_is_not_guessed(tmp_path, case):
    fields, kind, kept, lack = LACKING[case]
    result = imported(tmp_path, span(1, "x", kind, **fields))
    (envelope,) = result.trace.envelopes
    assert (len(envelope.opaque), isinstance(envelope.outcome, Raised)) == (1, case == "an exception")
    with pytest.raises(OpaqueError, match=lack) as caught:
        value_of(envelope)
    assert kept in str(caught.value)
    assert [sentence.startswith(f"x[1]: {lack}") for sentence in result.lacks] == [False, True]
    assert result.lacks[0].startswith("x[1]: the definition is not kept")


def test_secrets_are_masked(tmp_path):
    secret = {"value": {"api_key": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"}}
    (envelope,) = imported(
        tmp_path, span(1, "x", output=secret, input={"arguments": {"password": "hunter22"}})
    ).trace.envelopes
    assert ("sk-proj" in str(envelope), "hunter22" in str(envelope), envelope.masked) == (
        False,
        False,
        ("api_key",),
    )


DAMAGED = {
    "no JSON": ("{", "is no fixture of Chronicle 0.5"),
    "a field of another type": (
        json.dumps(span(1, "x") | {"input": []}),
        r"Expected `object`, got `array` - at `\$.input`",
    ),
    "another version": (
        json.dumps(span(1, "x") | {"schema_version": "1.0"}),
        "has schema_version '1.0', and Chronicle 0.5 writes",
    ),
    "another trace": (json.dumps(span(1, "x") | {"trace_id": "0" * 32}), "is of trace 0000"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_fixture_is_refused_and_nothing_is_imported(tmp_path, monkeypatch, case):
    text, message = DAMAGED[case]
    monkeypatch.chdir(tmp_path)
    export(tmp_path / "fixtures/a", span(1, "good"))
    export(tmp_path / "fixtures/b", span(1, "x"))
    (tmp_path / "fixtures/b/001-x-1.json").write_text(text)
    with pytest.raises(AdoptionError, match=message):
        traces(["import", "fixtures"])
    assert not os.path.exists(".autochron")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fixture": "../secret.json"}, "names the fixture '../secret.json', which is not in its folder"),
        ({"fixture": "002-absent-1.json"}, "can't be read"),
    ],
)
def test_a_graph_that_leads_elsewhere_is_refused(tmp_path, change, message):
    export(tmp_path, span(1, "x"))
    graph = json.loads((tmp_path / "graph.json").read_text())
    graph["nodes"][0] |= change
    (tmp_path / "graph.json").write_text(json.dumps(graph))
    with pytest.raises(AdoptionError, match=message):
        read_fixtures(str(tmp_path), load_rules(None), "0.1")


def test_parents_that_make_a_circle_are_refused(tmp_path):
    first = span(1, "a", parent_envelope_id=f"{2:016x}")
    with pytest.raises(AdoptionError, match="parents of each other"):
        imported(tmp_path, first, span(2, "b", parent_envelope_id=f"{1:016x}"))


def test_the_command_imports_folders_and_single_envelopes_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    export(tmp_path / "fixtures/one", span(1, "refund", output={"value": 1}))
    (tmp_path / "fixtures/alone.json").write_text(json.dumps(span(1, "agent", trace_id="1" * 32)))
    (tmp_path / "fixtures/other.json").write_text("{}")
    assert traces(["import", "fixtures"]) == 0
    assert [line.partition("imported: ")[2] for line in capsys.readouterr().out.splitlines() if "imported" in line] == [
        "1 crossings of fixtures/alone.json", "1 crossings of fixtures/one",
    ]  # fmt: skip
    assert traces(["import", "fixtures/alone.json"]) == 0
    assert "is in the store already" in capsys.readouterr().out
    store = open_store(str(tmp_path / ".autochron/traces.db"))
    assert [envelope.address for envelope in store.load("incident-1").envelopes] == ["refund[1]"]
    assert len(store.summaries()) == 2


def test_the_rules_say_where_a_boundary_is_defined(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").write_text("def refund(order): return order\n")
    (tmp_path / "autochron.toml").write_text(
        'version = 1\n[[boundary]]\nname = "refund"\nkind = "tool"\ndefine = "tools:refund"\n'
    )
    (result,) = read_fixtures(
        str(export(tmp_path / "f", span(1, "refund"))), load_rules("autochron.toml"), "0.1"
    )
    assert [(each.site, result.lacks) for each in result.trace.envelopes] == [("tools.py:refund", ())]


@pytest.mark.parametrize(
    ("words", "error"), [(["import", "empty"], AdoptionError), (["import", "empty", "--reseal"], UsageError)]
)
def test_a_folder_without_fixtures_is_refused(tmp_path, monkeypatch, words, error):
    monkeypatch.chdir(tmp_path)
    os.mkdir("empty")
    with pytest.raises(error):
        traces(words)
