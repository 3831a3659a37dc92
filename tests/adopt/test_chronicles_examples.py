"""The examples of agent-chronicle 0.5.0, from its published source archive.

Seven agents use marks, and the data classes that marks need; they run without Chronicle, record and replay by rules alone,
and differ by the marks only. The other examples drive Chronicle's own API; each is listed with the reason.
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib

import pytest

from autochron.adopt.adoption import carry_out, plan
from autochron.store import open_store
from tests.cli import processes

pytestmark = pytest.mark.slow

INCIDENTS = (
    "email_blast",
    "invoice_currency",
    "payout_injection",
    "prod_delete",
    "refund_order_id",
    "trade_notional",
)
GOOD = [
    "examples/deletion_agent/agent_bench.py",
    "examples/financial_incidents/_helpers.py",
    *(f"examples/financial_incidents/{name}.py" for name in INCIDENTS),
]
DRIVEN = {
    "examples/benchmark/harness.py": "reset_session",
    "examples/benchmark/live_overhead.py": "reset_session",
    "examples/benchmark/mutation.py": "ReplayPlan",
    "examples/control_plane/server.py": "SqliteStore",
    "examples/deletion_agent/record_incident.py": "EnvelopeStore",
    "examples/deletion_agent/run_cutpoint_demo.py": "ReplayPlan",
    "examples/deletion_agent/show_trace.py": "ExecutionGraph.load",
    "examples/financial_incidents/run.py": "ReplayPlan",
    "examples/langgraph_demo/routing_demo.py": "chronicle.replay_trace",
    "examples/nested_subagents/record.py": "chronicle.record",
    "examples/otel_tree_mas1.py": "chronicle.record",
    "examples/sample_envelope/record_sample.py": "chronicle.record",
}
"""The examples that drive Chronicle's own API, each with a name that it uses."""

DRIVER = f"""\
import sys
from examples.deletion_agent import agent_bench
from examples.financial_incidents import {", ".join(INCIDENTS)}

mode = sys.argv[1]
for module in ({", ".join(INCIDENTS)}):
    module.set_mode(mode)
    print(module.NAME, module.run_agent())
agent_bench.set_delete_impl(mode)
print(agent_bench.run_deletion_agent(user_message="clean up"))
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Return a folder with the published source, as it is downloaded."""
    folder = tmp_path_factory.mktemp("archive")
    options = [
        "--no-deps",
        "--no-binary",
        ":all:",
        "--no-build-isolation",
        "--disable-pip-version-check",
        "--dest",
        str(folder),
    ]
    command = [sys.executable, "-m", "pip", "download", *options, "agent-chronicle==0.5.0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("no network: the download of agent-chronicle 0.5.0 did not end in 100 s")
    archives = list(folder.glob("*.tar.gz"))
    if not archives:
        pytest.skip(
            f"no network, or no index with agent-chronicle 0.5.0: {done.stderr.strip().splitlines()[-1:]}"
        )
    with tarfile.open(archives[0]) as tar:
        tar.extractall(folder, filter="data")
    (source,) = folder.glob("agent_chronicle-*/")
    (source / "drive.py").write_text(DRIVER)
    return source


@pytest.fixture(scope="module")
def adopted(archive, tmp_path_factory):
    """Return a copy whose agents are adopted, and where Chronicle can't be imported."""
    folder = tmp_path_factory.mktemp("adopted") / "project"
    shutil.copytree(archive, folder)
    shutil.rmtree(folder / "chronicle")
    (folder / "chronicle.py").write_text('raise ImportError("Chronicle is not installed")\n')
    adoption = plan([str(folder / name) for name in GOOD])
    assert adoption.refusals == []
    carry_out(adoption)
    return folder


@pytest.mark.thorough
def test_the_examples_that_drive_its_api_are_listed_with_the_reason(archive):
    before = {path: path.read_bytes() for path in archive.rglob("*.py")}
    adoption = plan([str(archive / "examples")])
    assert {path: path.read_bytes() for path in archive.rglob("*.py")} == before
    places = [re.match(rf"{re.escape(str(archive))}/(.*?):(\d+): (.*)", text) for text in adoption.refusals]
    assert {place[1] for place in places} == DRIVEN.keys()
    for place in places:
        line = before[archive / place[1]].decode().splitlines()[int(place[2]) - 1]
        assert line.strip(), place[0]
    for name, used in DRIVEN.items():
        assert any(place[1] == name and used in place[3] for place in places), name
    assert [os.path.relpath(file, archive) for file in adoption.good_files] == GOOD


REMOVED = re.compile(
    r"@boundary\(|from chronicle|from examples\.financial_incidents\._helpers import|tool_call = ToolCall\(|"
    r'"tool_calls": \[tool_call\.model_dump\(\)\],|def (agent_input|_\w+_input)\(|$'
)
ADDED = re.compile(
    r"from typing import TYPE_CHECKING$|if TYPE_CHECKING:$|from chronicle\.envelope\.schema import Envelope, Input$|$|"
    r"from examples\.financial_incidents\._helpers import|tool_call = dict\($|\"tool_calls\": \[tool_call\],$"
)


@pytest.mark.parametrize("name", GOOD)
def test_an_agent_differs_by_the_marks_only(archive, adopted, name):
    before, after = ((folder / name).read_text("utf-8").splitlines() for folder in (archive, adopted))
    extractor = False
    for line in difflib.ndiff(before, after):
        sign, text = line[0], line[2:]
        if sign == "-":
            extractor = text.startswith("def ") or (extractor and text[:1] in {" ", ")", ""})
            assert extractor or REMOVED.match(text.strip()), text
        elif sign == "+":
            assert ADDED.match(text.strip()), text
        elif sign == " ":
            extractor = False


def test_the_rules_say_what_the_marks_said(adopted):
    rules = tomllib.loads((adopted / "autochron.toml").read_text())["boundary"]
    tools = [rule for rule in rules if rule["kind"] == "tool"]
    assert [(rule["name"], rule["kind"], rule["define"].rpartition(":")[2], rule.get("capture")) for rule in tools] == [
        ("delete_file", "tool", "delete_file", None),
        ("send_campaign", "tool", "send_campaign", ["segment", "recipient_count"]),
        ("create_invoice", "tool", "create_invoice", None),
        ("transfer_funds", "tool", "transfer_funds", None),
        ("delete_dataset", "tool", "delete_dataset", None),
        ("issue_refund", "tool", "issue_refund", None),
        ("place_order", "tool", "place_order", None),
    ]  # fmt: skip
    assert [rule["name"] for rule in rules if rule["kind"] == "model"] == ["agent"] * 14


def test_without_chronicle_it_records_what_chronicle_recorded_and_replays(archive, adopted):
    with_marks = subprocess.run(
        [sys.executable, "drive.py", "ungated"], cwd=archive, capture_output=True, text=True, check=True
    )
    recorded = processes.autochron(adopted, "run", "--quiet", "drive.py", "ungated")
    assert (recorded.status, recorded.text) == (0, with_marks.stdout), recorded.said
    trace = open_store(str(adopted / ".autochron/traces.db")).load("last")
    tools = [envelope for envelope in trace.envelopes if envelope.kind == "tool"]
    assert [envelope.name for envelope in trace.envelopes] == [
        name for tool in tools for name in ("agent", tool.name, "agent")
    ]
    assert len(trace.envelopes) == 21
    assert tools[0].arguments == {"segment": "all-customers", "recipient_count": 48213}
    replayed = processes.autochron(adopted, "replay", "last")
    assert (replayed.status, "the same: 21 crossings" in replayed.said) == (0, True), replayed.said


def test_a_cut_point_runs_the_fixed_tools(archive, adopted):
    processes.autochron(adopted, "run", "--quiet", "drive.py", "ungated")
    live = ("--live", "kind:tool", "--live", "agent[2]", "--inputs", "ignore")
    done = processes.autochron(adopted, "replay", "last", *live, "--", "drive.py", "gated")
    first = done.text.splitlines()[0]
    assert ("'blocked': True" in first, "'sent': False" in first) == (True, True), done.said


def test_its_fixtures_are_traces(archive, adopted):
    done = processes.autochron(adopted, "traces", "import", "fixtures")
    imported = re.findall(r"imported: (\d+) crossings of (\S+)", done.text)
    assert sorted((os.path.basename(path), int(count)) for count, path in imported) == [
        ("deletion-incident-001", 3), ("invoice-currency", 3), ("parent-calls-subagent-twice", 7), ("refund-order-id", 3),
        ("support-agent-001.json", 1), ("trade-notional", 3),
    ]  # fmt: skip
    tree = processes.autochron(adopted, "traces", "show", "parent-calls-subagent-twice").text
    assert re.findall(r"(\S+\[\d\])", tree) == [
        "orchestrator[1]", "researcher[1]", "llm[1]", "web_search[1]", "researcher[2]", "llm[2]", "web_search[2]",
    ]  # fmt: skip
    (adopted / "one.py").write_text(
        "from examples.deletion_agent.agent_bench import run_deletion_agent\n"
        'print(run_deletion_agent(user_message="Clean up old application logs in production"))\n'
    )
    replay = processes.autochron(
        adopted,
        "replay",
        "trace-deletion-incident-001",
        "--allow-unwoven",
        "--inputs",
        "ignore",
        "--",
        "one.py",
    )
    assert (replay.status, "the result is not kept: of a model's call" in replay.said) == (1, True), (
        replay.said
    )
