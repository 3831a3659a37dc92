"""The suite: each incident's test fails on the unguarded tool and on nothing else; stubs and mocks see nothing of it."""

import re
import shutil
import subprocess
import sys

import pytest

from autochron.store import open_store
from bench.paper import trials
from bench.paper.trials import FULL_STUB, Job, Trials
from incidents import record as recording
from incidents.suite import AGENT, INCIDENTS, PARTS, IncidentError, load, load_all
from tests.cli.processes import ROOT, finish, start

SUITE = load_all()


def each_incident(rest=pytest.mark.slow, first=("invoice",)):
    """Take some in every run, and the rest where a mark says so."""
    return pytest.mark.parametrize(
        "incident",
        [
            pytest.param(
                each,
                id=each.name,
                marks=[
                    *([] if each.name in first else [rest]),
                    pytest.mark.skipif(bool(each.missing()), reason=f"{each.missing()} is not installed"),
                ],
            )
            for each in SUITE
        ],
    )


@each_incident()
def test_each_incident(incident, request):
    """The study of one incident; `--thorough` replays it as often as the study that is kept."""
    often = {} if request.config.getoption("--thorough") else {"replays": 5, "fresh": 1}
    row = trials.measure(incident, timed=0, **often)
    assert row.wrong == ()
    assert (row.detected, row.fixed, row.benign, row.reworded) == (True, True, True, 5)
    assert (row.stubbed, row.mocked) == (False, False)
    assert (row.replays, row.divergent) == (often.get("replays", 20), 0)
    assert (row.live_models, row.reached) == (0, 0)
    assert row.with_model
    assert (row.called > 0, row.marks, row.boundaries > 2) == (True, 0, True)


@each_incident()
def test_what_is_there_for_people_to_run(incident, tmp_path):
    folder = tmp_path / incident.name
    shutil.copytree(incident.folder, folder)
    assert "2 passed" in run_tests(folder)


def run_tests(folder):
    words = ["-m", "pytest", "-p", "autochron.pytest_plugin", "-p", "no:cacheprovider"]
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTHONPATH": ROOT}
    return finish(start([sys.executable, *words], folder, env=alone)).text


@each_incident(pytest.mark.thorough, first=("refund", "stale_quote", "trade"))
@pytest.mark.slow
def test_without_its_rules_the_test_says_what_is_missing(incident, tmp_path):
    folder = tmp_path / incident.name
    shutil.copytree(incident.folder, folder)
    (folder / "autochron.toml").unlink()
    said = run_tests(folder)
    unwoven = "crossed a boundary when it was recorded, and by today's rules does not"
    unread = "autochron.toml can't be read (No such file or directory); name another rule file (bad-rule)"
    assert (unread in said) != (unwoven in said and "no rule file was found from" in said)
    assert "1 passed" in said  # the mocks


@each_incident(pytest.mark.thorough)
@pytest.mark.slow
def test_recorded_anew_it_is_what_is_kept(incident, tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "INCIDENTS", tmp_path)
    folder = tmp_path / incident.name
    shutil.copytree(incident.folder, folder, ignore=shutil.ignore_patterns("__pycache__", "trace.jsonl"))
    assert recording.main([incident.name]) == 0
    there = sorted(each.name for each in folder.iterdir() if each.name != "__pycache__")
    assert there == sorted([*PARTS, "incident.toml"])
    anew, kept = (open_store(str(each / "trace.jsonl")).load("last") for each in (folder, incident.folder))
    assert [each.address for each in anew.envelopes] == [each.address for each in kept.envelopes]
    assert anew.header.rules == kept.header.rules


# --- what is wrong is named -----------------------------------------------------------------------------------------------


@pytest.fixture
def copied(tmp_path):
    shutil.copytree(INCIDENTS / "invoice", tmp_path / "invoice")
    return tmp_path / "invoice"


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_the_agents_own_files_are_looked_through_for_marks(copied):
    for at, name in enumerate(AGENT):
        with (copied / name).open("a") as file:
            file.write("\n\nimport Autochron\n")
        assert load(copied).marks() == at + 1
    assert [
        each.name for each in SUITE if re.search("autochron", (each.folder / "test_mocks.py").read_text())
    ] == []


@pytest.mark.slow
def test_what_is_not_as_it_should_be_is_said(copied):
    edit(copied / "agent.py", "You are the billing agent", "You are a billing agent")
    edit(copied / "guarded.py", "if currency != agreed:", "if False:")
    edit(copied / "benign.py", "agreed = CONTRACTS", "agreed = TREATIES")
    edit(copied / "test_mocks.py", "import agent\n", "import agency\n")
    row = trials.measure(load(copied), timed=0, replays=2, fresh=1)
    assert (row.detected, row.fixed, row.benign, row.reworded, row.mocked) == (True, False, False, 0, False)
    assert (row.stubbed, row.divergent, row.with_model) == (True, 2, False)
    guarded, benign, *reworded, trace, mocks, model = row.wrong
    assert guarded == (
        "its test fails on the tool that is guarded: AssertionError: "
        'assert replay["send_invoice[1]"].result["status"] == "blocked"'
    )
    assert benign == ("its test breaks on the tool that is benign: NameError: name 'TREATIES' is not defined")
    assert len(reworded) == 5
    assert trace.startswith("its trace does not fit its agent: model[1] was given another input: body.system")
    assert trace.endswith(
        "if it is the agent that changed, record it anew: python -m incidents.record invoice"
    )
    assert mocks == "its test of mocks breaks: ModuleNotFoundError: No module named 'agency'"
    assert model.startswith("with models live its test fails: AssertionError: ")


@pytest.mark.slow
def test_a_check_that_finds_nothing_has_not_found_the_failure(copied):
    with Trials(load(copied)) as tried:
        for line, verdict in (("return", "passes"), ("raise KeyError(1)", "breaks")):
            edit(
                copied / "test_incident.py",
                "    assert [each.address",
                f"    {line}\n    assert [each.address",
            )
            (result,) = tried.tried(Job("cut-point", "unguarded"))
            assert (result.verdict, result.failed) == (verdict, False)
            edit(copied / "test_incident.py", f"    {line}\n", "")


@pytest.mark.parametrize(
    ("part", "old", "new", "said"),
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
def test_an_incident_that_can_not_be_tried_says_why(copied, part, old, new, said):
    edit(copied / part, old, new)
    with Trials(load(copied)) as tried, pytest.raises(IncidentError, match=said) as refused:
        tried.tried(FULL_STUB)
    assert str(refused.value).startswith("invoice can't be tried: ")
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_a_trial_that_does_not_end_is_ended(copied, monkeypatch):
    monkeypatch.setattr(trials, "TIMEOUT", 4.0)
    edit(copied / "agent.py", '    print(f"asked: {message}")', "    while True:\n        pass")
    with (
        Trials(load(copied)) as tried,
        pytest.raises(IncidentError, match="full-stub of unguarded has not ended in 4 s"),
    ):
        tried.tried(FULL_STUB)


# --- recording anew -------------------------------------------------------------------------------------------------------


@pytest.fixture
def only_copied(copied, monkeypatch):
    monkeypatch.setattr(recording, "INCIDENTS", copied.parent)
    return copied


@pytest.mark.parametrize(
    ("part", "text", "said"),
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
            "invoice has not ended in 3 s; does provider.json",
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
    only_copied, part, text, said, monkeypatch, capsys
):
    monkeypatch.setattr(recording, "TIMEOUT", 3.0)
    kept = (only_copied / "trace.jsonl").read_bytes()
    if text is None:
        edit(only_copied / part, '"anthropic"]', '"nosuchthing"]')
    else:
        (only_copied / part).write_text(text)
    assert recording.main(["invoice"]) == 2
    assert re.search(said, capsys.readouterr().err)
    assert (only_copied / "trace.jsonl").read_bytes() == kept


# --- what is missing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_missing_is_named(copied, part):
    (copied / part).unlink()
    with pytest.raises(IncidentError, match=rf"^invoice has no {part}: "):
        load(copied)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("heading = 'x'", "invoice/incident.toml has `heading`; it takes title, failure"),
        ("live = 'x'", "can't be read: Cannot overwrite a value"),
        ("paper = [", "can't be read: "),
    ],
)
def test_a_description_that_is_wrong_is_refused(copied, line, said):
    with (copied / "incident.toml").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(IncidentError) as refused:
        load(copied)
    assert said in str(refused.value)


@pytest.mark.parametrize(("key", "said"), [("tool", "has no `tool`"), ("live", "has no `live`")])
def test_a_description_that_lacks_something_is_refused(copied, key, said):
    described = copied / "incident.toml"
    lines = described.read_text().splitlines(keepends=True)
    described.write_text("".join(line for line in lines if not line.startswith(f"{key} ")))
    with pytest.raises(IncidentError, match=said):
        load(copied)


@pytest.mark.parametrize(
    ("part", "old", "new", "said"),
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
            "guarded.py",
            "def send_invoice(",
            "def send_invoices(",
            "invoice/guarded.py has no function `send_invoice`",
        ),
    ],
)
def test_what_is_named_has_to_be_there(copied, part, old, new, said):
    edit(copied / part, old, new)
    with pytest.raises(IncidentError, match=re.escape(said)):
        load(copied)


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(IncidentError, match=r"has no incident\.toml"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("words", "jobs", "said"),
    [((), "", "usage: python -m incidents.trial FOLDER"), ((str(INCIDENTS),), "", "has no incident.toml")],
)
def test_a_trial_of_nothing_is_refused(words, jobs, said):
    done = subprocess.run(
        [sys.executable, "-m", "incidents.trial", *words],
        input=jobs,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
