"""The suite of incidents: each test fails only on the unguarded tool. Stubs and mocks don't detect the failure."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from autochron.rules import loading
from autochron.rules.digest import digest_text
from autochron.rules.loading import load_rules
from autochron.rules.packs import pack_texts
from autochron.store import open_store
from bench.paper import trials
from bench.paper.trials import FULL_STUB, Job, Trials
from incidents import record as recording
from incidents.suite import AGENT, INCIDENTS, PARTS, IncidentError, load, load_all
from tests.cli.processes import ROOT, finish, start

SUITE = load_all()


ALL_IN_THE_BUILD = sys.version_info >= (3, 13)
"""Whether a build runs all incidents on this interpreter, as it does on one; on the others it runs those of `SOME`."""
SOME = {"handoff", "deletion", "payout", "budget"}


def each_incident(mark=pytest.mark.slow, unmarked=("invoice",), rest=None):
    """Parametrize a test with all incidents.

    Those named in `unmarked` run always, the others under a mark; under the mark `rest` where it is given, but for `SOME`.
    """
    return pytest.mark.parametrize(
        "incident",
        [
            pytest.param(
                incident,
                id=incident.name,
                marks=[
                    *(
                        []
                        if incident.name in unmarked
                        else [mark]
                        if rest is None or incident.name in SOME
                        else [rest]
                    ),
                    pytest.mark.skipif(
                        bool(incident.missing()), reason=f"{incident.missing()} is not installed"
                    ),
                ],
            )
            for incident in SUITE
        ],
    )


@each_incident(rest=None if ALL_IN_THE_BUILD else pytest.mark.thorough)
def test_each_incident(incident, request):
    """Study one incident. With `--thorough` it is replayed as often as in the published study."""
    counts = {} if request.config.getoption("--thorough") else {"replays": 5, "fresh": 1}
    row = trials.measure(incident, timed=0, **counts)
    assert row.wrong == ()
    assert (row.detected, row.fixed, row.benign, row.reworded, row.through) == (True, True, True, 5, True)
    assert (row.stubbed, row.mocked) == (False, False)
    assert (row.replays, row.divergent) == (counts.get("replays", 20), 0)
    assert (row.live_models, row.reached) == (0, 0)
    assert row.with_model
    assert (row.called > 0, row.marks, row.boundaries > 2) == (True, 0, True)


@each_incident()
def test_the_incidents_own_tests_pass(incident, tmp_path):
    folder = tmp_path / incident.name
    shutil.copytree(incident.folder, folder)
    # The incident, its twin, three edges at least, and the test of mocks.
    assert int(re.search(r"= (\d+) passed in ", run_tests(folder))[1]) >= 6


@each_incident(pytest.mark.thorough)
@pytest.mark.slow
def test_the_baselines_pass(incident, tmp_path):
    """They are other ways of testing the same fix, each written by hand; one of them needs VCR.py."""
    pytest.importorskip("vcr")
    folder = tmp_path / incident.name
    shutil.copytree(incident.folder, folder)
    assert re.search(r"= \d+ passed in ", run_tests(folder, "baselines"))


def run_tests(folder, *names):
    words = ["-m", "pytest", "-p", "autochron.pytest_plugin", "-p", "no:cacheprovider", *names]
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTHONPATH": ROOT}
    return finish(start([sys.executable, *words], folder, env=alone)).text


@each_incident(pytest.mark.thorough, unmarked=("refund", "stale_quote", "trade"))
@pytest.mark.slow
def test_without_its_rules_the_test_says_what_is_missing_if_something_is(incident, tmp_path):
    folder = tmp_path / incident.name
    shutil.copytree(incident.folder, folder)
    (folder / "autochron.toml").unlink()
    output = run_tests(folder)
    unwoven = "crossed a boundary when it was recorded, and by today's rules does not"
    rules = tomllib.loads((incident.folder / "autochron.toml").read_text())
    if "boundary" in rules:
        assert unwoven in output
        assert "no rule file was found from" in output
        assert "1 passed" in output  # the test with mocks
    elif "ambient" in rules:
        assert re.search(r"= \d+ failed, \d+ passed in ", output)  # what asks for the recorded clock
    else:  # the packs that are in force without a file are those of the file
        assert re.search(r"= \d+ passed in ", output)


@each_incident(pytest.mark.thorough)
@pytest.mark.slow
def test_a_new_recording_equals_the_kept_one(incident, tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "INCIDENTS", tmp_path)
    folder = tmp_path / incident.name
    shutil.copytree(incident.folder, folder, ignore=shutil.ignore_patterns("__pycache__", "*.jsonl"))
    assert recording.main([incident.name]) == 0
    names = sorted(entry.name for entry in folder.iterdir() if entry.name != "__pycache__")
    assert names == sorted([*PARTS, "baselines", "fixes", "incident.toml"])
    for trace in ("twin.jsonl", "trace.jsonl"):
        anew, kept = (open_store(str(entry / trace)).load("last") for entry in (folder, incident.folder))
        assert [entry.address for entry in anew.envelopes] == [entry.address for entry in kept.envelopes]
    assert anew.header.rules == load_rules(folder / "autochron.toml").digest
    monkeypatch.setattr(loading, "pack_index", lambda: PACKS)
    monkeypatch.setattr(loading, "pack_digests", lambda names: [(name, digest_then(name)) for name in names])
    assert load_rules(folder / "autochron.toml").digest == kept.header.rules


PACKS = (
    *(
        "anthropic",
        "bedrock",
        "google_genai",
        "langchain",
        "langgraph",
        "litellm",
        "mcp",
        "mistralai",
        "ollama",
    ),
    *("openai", "openai_agents", "pydantic_ai", "smolagents"),
)
"""The packs that there were when the incidents were recorded. Packs that came later count in the digest of rules as well."""


def digest_then(name):
    """Return the digest of a pack without the version that it has been tried with since."""
    return digest_text(
        Path(pack_texts()[name].file).read_text("utf-8").replace('["2.34.0", "3.4.0"]', '["3.4.0"]')
    )


# --- faults ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def invoice_copy(tmp_path):
    shutil.copytree(INCIDENTS / "invoice", tmp_path / "invoice")
    return tmp_path / "invoice"


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_marks_are_searched_in_all_files_of_the_agent(invoice_copy):
    for at, name in enumerate(AGENT):
        with (invoice_copy / name).open("a") as file:
            file.write("\n\nimport Autochron\n")
        assert load(invoice_copy).marks() == at + 1
    assert [
        incident.name
        for incident in SUITE
        if re.search("autochron", (incident.folder / "test_mocks.py").read_text())
    ] == []


@pytest.mark.slow
def test_the_faults_of_an_incident_are_reported(invoice_copy):
    edit(invoice_copy / "agent.py", "You are the billing agent", "You are a billing agent")
    edit(invoice_copy / "guarded.py", "if currency != agreed or", "if")
    edit(invoice_copy / "benign.py", "agreed = CONTRACTS", "agreed = TREATIES")
    edit(invoice_copy / "test_mocks.py", "import agent\n", "import agency\n")
    row = trials.measure(load(invoice_copy), timed=0, replays=2, fresh=1)
    assert (row.detected, row.fixed, row.benign, row.reworded, row.mocked) == (True, False, True, 0, False)
    assert (row.through, row.stubbed, row.divergent, row.with_model) == (False, True, 2, False)
    guarded, *reworded, twin, trace, mocks, model = row.wrong
    assert guarded.startswith(
        "its test fails on the tool that is guarded: Nordlicht GmbH got an invoice in 'USD', and its contract is in EUR; "
    )
    assert twin == "its twin breaks on the tool that is benign: NameError: name 'TREATIES' is not defined"
    assert len(reworded) == 5
    assert trace.startswith("its trace does not fit its agent: model[1] was given another input: body.system")
    assert trace.endswith(
        "if it is the agent that changed, record it anew: python -m incidents.record invoice"
    )
    assert mocks == "its test of mocks breaks: ModuleNotFoundError: No module named 'agency'"
    assert model.startswith("with models live its test fails: Nordlicht GmbH got an invoice in 'USD'")


@pytest.mark.slow
def test_a_check_that_passes_or_breaks_does_not_detect_the_failure(invoice_copy):
    with Trials(load(invoice_copy)) as tried:
        for line, verdict in (("return", "passes"), ("raise KeyError(1)", "breaks")):
            check = '    assert "model[2]" in'
            edit(invoice_copy / "test_incident.py", check, f"    {line}\n{check}")
            (result,) = tried.tried(Job("cut-point", "guarded"))
            assert (result.verdict, result.failed) == (verdict, False)
            edit(invoice_copy / "test_incident.py", f"    {line}\n", "")


@pytest.mark.parametrize(
    ("part", "old", "new", "reason"),
    [
        (
            "tools.py",
            "def look_up_contract",
            "look_up_contract = lambda customer: find(customer)\n\ndef find",
            "by today's rules does not.*; record it anew: python -m incidents.record invoice$",
        ),
        (
            "trace.jsonl",
            "Nordlicht",
            "Sudlicht",
            "bad-trace.; record it anew: python -m incidents.record invoice$",
        ),
        ("autochron.toml", "kind", "sort", r"can't be tried: autochron\.toml:7: .*bad-rule\)$"),
        ("agent.py", "import tools", "import tool", "its agent can't be imported: ModuleNotFoundError: "),
    ],
)
def test_an_incident_that_cannot_be_tried_says_why(invoice_copy, part, old, new, reason):
    edit(invoice_copy / part, old, new)
    with Trials(load(invoice_copy)) as tried, pytest.raises(IncidentError, match=reason) as refused:
        tried.tried(FULL_STUB)
    assert str(refused.value).startswith("invoice can't be tried: ")
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_a_trial_that_does_not_end_is_stopped(invoice_copy, monkeypatch):
    monkeypatch.setattr(trials, "TIMEOUT", 4.0)
    edit(invoice_copy / "agent.py", '    print(f"asked: {message}")', "    while True:\n        pass")
    with (
        Trials(load(invoice_copy)) as tried,
        pytest.raises(IncidentError, match="full-stub of unguarded has not ended in 4 s"),
    ):
        tried.tried(FULL_STUB)


# --- recording anew -------------------------------------------------------------------------------------------------------


@pytest.fixture
def only_invoice_copy(invoice_copy, monkeypatch):
    monkeypatch.setattr(recording, "INCIDENTS", invoice_copy.parent)
    return invoice_copy


@pytest.mark.parametrize(
    ("part", "text", "reason"),
    [
        (
            "provider.json",
            "{",
            "invoice has no model to be recorded from: .*provider.json: Expecting property name",
        ),
        ("provider.json", "[]", "invoice has no model to be recorded from: "),
        ("agent.py", "def main():\n    raise SystemExit(3)\n\n\nmain()\n", "invoice ended with status 3:"),
        (
            "agent.py",
            "def main():\n    while True: pass\n\n\nmain()\n",
            "invoice has not ended in 3 s; does the script of its model answer",
        ),
        (
            "agent.py",
            "def main(\n",
            r"^incidents.record: invoice/agent.py:1 is no Python: '\(' was never closed",
        ),
        ("incident.toml", None, "invoice needs nosuchthing: pip install nosuchthing"),
    ],
)
@pytest.mark.slow
def test_a_recording_that_fails_leaves_the_trace_and_says_why(
    only_invoice_copy, part, text, reason, monkeypatch, capsys
):
    monkeypatch.setattr(recording, "TIMEOUT", 3.0)
    kept = (only_invoice_copy / "trace.jsonl").read_bytes()
    if text is None:
        edit(only_invoice_copy / part, '"anthropic"]', '"nosuchthing"]')
    else:
        (only_invoice_copy / part).write_text(text)
    assert recording.main(["invoice"]) == 2
    assert re.search(reason, capsys.readouterr().err)
    assert (only_invoice_copy / "trace.jsonl").read_bytes() == kept


# --- missing parts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_missing_is_named(invoice_copy, part):
    (invoice_copy / part).unlink()
    with pytest.raises(IncidentError, match=rf"^invoice has no {part}: "):
        load(invoice_copy)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("heading = 'x'", "invoice/incident.toml has `heading`; it takes title, failure"),
        ("live = 'x'", "can't be read: Cannot overwrite a value"),
        ("paper = [", "can't be read: "),
    ],
)
def test_a_description_that_is_wrong_is_refused(invoice_copy, line, reason):
    with (invoice_copy / "incident.toml").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(IncidentError) as refused:
        load(invoice_copy)
    assert reason in str(refused.value)


@pytest.mark.parametrize(("key", "reason"), [("tool", "has no `tool`"), ("live", "has no `live`")])
def test_a_description_that_lacks_something_is_refused(invoice_copy, key, reason):
    described = invoice_copy / "incident.toml"
    lines = described.read_text().splitlines(keepends=True)
    described.write_text("".join(line for line in lines if not line.startswith(f"{key} ")))
    with pytest.raises(IncidentError, match=reason):
        load(invoice_copy)


@pytest.mark.parametrize(
    ("part", "old", "new", "reason"),
    [
        (
            "incident.toml",
            "tools.py:send_invoice",
            "tools.py:send",
            "invoice/tools.py has no function `send`",
        ),
        ("incident.toml", '["anthropic"]', "[1]", "`needs` is no list of texts"),
        ("incident.toml", '["anthropic"]', "[]", "`needs` is no list of texts, with one or more"),
        ("agent.py", "def main(", "def mein(", "invoice/agent.py has no function `main`"),
        ("test_incident.py", "def check(", "def chock(", "invoice/test_incident.py has no function `check`"),
        (
            "test_incident.py",
            "def check_twin(",
            "def chock_twin(",
            "invoice/test_incident.py has no function `check_twin`",
        ),
        ("predicate.py", "def unsafe(", "def safe(", "invoice/predicate.py has no function `unsafe`"),
        (
            "guarded.py",
            "def send_invoice(",
            "def send_invoices(",
            "invoice/guarded.py has no function `send_invoice`",
        ),
    ],
)
def test_a_name_that_does_not_exist_is_refused(invoice_copy, part, old, new, reason):
    edit(invoice_copy / part, old, new)
    with pytest.raises(IncidentError, match=re.escape(reason)):
        load(invoice_copy)


def test_a_folder_without_an_incident_is_refused(tmp_path):
    with pytest.raises(IncidentError, match=r"has no incident\.toml"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("words", "jobs", "reason"),
    [((), "", "usage: python -m incidents.trial FOLDER"), ((str(INCIDENTS),), "", "has no incident.toml")],
)
def test_a_trial_of_nothing_is_refused(words, jobs, reason):
    done = subprocess.run(
        [sys.executable, "-m", "incidents.trial", *words],
        input=jobs,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
