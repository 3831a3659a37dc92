"""The files of an incident have their intended structure, whatever text its trace holds."""

import os
import re

import pytest
from msgspec import structs

from autochron.errors import AutochronError
from autochron.incident import create
from autochron.report.traces import draw_trace
from autochron.rules.loading import load_rules
from autochron.store.tracefile import read_trace, write_trace
from autochron.store.whole import WholeRecord
from tests.cli.processes import autochron as command
from tests.cli.processes import write
from tests.security.hostile import HOSTILE
from tests.security.incident_files import AGENT, RULES, check_files, doctored


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """Return a folder with a recorded agent."""
    folder = tmp_path_factory.mktemp("agent")
    write(
        folder, {"agent.py": AGENT, "autochron.toml": RULES, "model.json": '{"tool": "refund", "text": "x"}'}
    )
    for words in (["run", "agent.py"], ["traces", "export", "last", "plain.jsonl"]):
        done = command(folder, *words)
        assert done.status == 0, done.said
    return folder


def write_incident(request, tree):
    """Write an incident; return it and no message, or None and the message of the refusal."""
    try:
        return create.write(request, tree), ""
    except AutochronError as error:
        return None, str(error)


@pytest.mark.parametrize("mode", ["script", "block"])
@pytest.mark.parametrize(
    "text", [text for text in HOSTILE if "\ud800" not in text], ids=lambda text: ascii(text[:12])
)
def test_an_incident_of_a_hostile_trace_has_the_intended_structure(agent, tmp_path, text, mode, monkeypatch):
    monkeypatch.chdir(agent)
    trace = doctored(read_trace(str(agent / "plain.jsonl")), text)
    command = structs.replace(trace.header.command, mode=mode)
    trace = structs.replace(trace, header=structs.replace(trace.header, command=command))
    write_trace(trace, str(tmp_path / "hostile.jsonl"))
    record = WholeRecord(read_trace(str(tmp_path / "hostile.jsonl")))
    for live in (("kind:tool",), ("kind:tool", text)):
        folder = tmp_path / f"incident{len(live)}"
        request = create.IncidentRequest(
            record, load_rules(str(agent / "autochron.toml")), live, None, str(folder), allow_unwoven=True
        )
        tree = draw_trace(record, record.get, None).lines()
        incident, message = write_incident(request, tree)
        if incident is None:
            assert len(live) == 2  # the text is no valid selector
            assert message.replace("\n", "").replace("\t", "").isprintable()
            assert not folder.exists()
            continue
        test = os.path.basename(incident.test)
        check_files(folder, test)
        volatile = create.test_text(request, [(text, text), (f"output.{text}", text)])
        assert re.findall(r"^import .*|^    [a-z]\w*\(.*", volatile, re.MULTILINE) == ["import pytest"]
        (folder / test).write_text(volatile, encoding="utf-8")
        check_files(folder, test)
    assert not list(agent.glob("owned*"))
