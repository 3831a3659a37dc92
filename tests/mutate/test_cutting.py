"""Trials that go on from the checkpoint reply as trials of the whole test do. Where they could not, the whole test is run."""

import os
import random
import subprocess
import sys
import time

import pytest

from tests.mutate.desks import AGENT, GUARDED, PLAIN, TEST, Trier, copy_incident

FIX = """
if cents > PAID[order]:
    return {"status": "blocked", "most": PAID[order]}
return pay(order, cents)
"""
PAYS = 'return {"status": "paid", "cents": cents}\n'


@pytest.fixture
def start_trier(desk, tmp_path, monkeypatch):
    """Yield a function that starts a trier for a copy of the desk with changed files. Agents write into the test's folder."""
    monkeypatch.chdir(tmp_path)
    pools = []

    def begin(**files):
        pools.append(Trier(copy_incident(desk, tmp_path / "copy", **files), timeout=20.0))
        return pools[-1]

    for name, value in PLAIN.items():
        monkeypatch.setenv(name, value)
    yield begin
    for pool in pools:
        pool.end()


def agent(before="", at_top=""):
    """Return the agent with lines inserted between the model's call and the tool's."""
    wish = '    wish = ask(["my lamp is broken"])\n'
    lines = "".join(f"    {line}\n" for line in before.strip().splitlines())
    return at_top + AGENT.replace(wish, wish + lines)


def verdicts(trier):
    return trier.ready.at_cut, trier.ask(FIX).kind, trier.ask(PAYS).kind, trier.ask(FIX).kind


def test_trials_go_on_from_the_checkpoint(start_trier):
    assert verdicts(start_trier()) == (True, "passed", "assertion", "passed")


WARMS_UP = """
import os, sys, tempfile
from autochron.mutate.server.warmup import warm_up
from autochron.weaving import gate
tempfile.tempdir = sys.argv[1]
before = list(sys.path)
warm_up()
print(gate.is_on(), sys.path == before, "autochron_warmup" in sys.modules, os.listdir(sys.argv[1]))
"""


def test_the_warm_up_ends_and_leaves_nothing_behind(tmp_path):
    command = [sys.executable, "-c", WARMS_UP, str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, **PLAIN}, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False True False []\n", "")


def test_replies_from_the_checkpoint_equal_those_of_a_whole_run(start_trier, tmp_path):
    at_cut = start_trier()
    whole_run = Trier(
        copy_incident(at_cut.folder, tmp_path / "whole", agent=agent("open('log', 'w').close()"))
    )
    try:
        assert (at_cut.ready.at_cut, whole_run.ready.at_cut) == (True, False)
        for body in (FIX, PAYS, "raise ValueError(order)", "return None", "return (", "return refund"):
            from_checkpoint, from_whole_run = at_cut.ask(body), whole_run.ask(body)
            assert (
                from_checkpoint.kind,
                from_checkpoint.said,
                from_checkpoint.given,
                from_checkpoint.reached,
            ) == (
                from_whole_run.kind,
                from_whole_run.said,
                from_whole_run.given,
                from_whole_run.reached,
            )
    finally:
        whole_run.end()


HINDRANCES = {
    "a file that is open": ("held = open(__file__)", ""),
    "a file that was open before and is written": (
        "LOG.write('asked')\nLOG.flush()",
        "LOG = open('log', 'a')\n",
    ),
    "a database that was open before and is written": (
        "PAID.execute('create table if not exists paid (cents)')\nPAID.execute('insert into paid values (1)')\nPAID.commit()",
        "import os, sqlite3\nPAID = sqlite3.connect(f'{os.getpid()}.db')\n",
    ),
    "a file that was written": ("open('log', 'w').close()", "import os\n"),
    "a database": ("import sqlite3\nsqlite3.connect('paid.db').close()", ""),
    "a folder": ("import os\nos.makedirs('made', exist_ok=True)\nos.rmdir('made')", ""),
    "a process": ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''], check=True)", ""),
    "a thread": (
        "import threading\nstop = threading.Event()\nthreading.Thread(target=stop.wait, daemon=True).start()",
        "",
    ),
    "a timer": ("import signal\nsignal.setitimer(signal.ITIMER_REAL, 3600)", ""),
    "a profiler": ("import sys\nsys.setprofile(lambda *_: None)", ""),
    "what is mutated has run": ("import guarded\nguarded.refund('A1', 9999)", ""),
    "the number of the process": ("import guarded, os\nguarded.HOME = os.getpid()", ""),
}

QUICK = {"a file that was written", "what is mutated has run", "the number of the process"}


@pytest.mark.parametrize(
    "hindrance",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in HINDRANCES],
)
def test_the_whole_test_is_run_where_a_fork_would_lose_state(start_trier, hindrance):
    before, at_top = HINDRANCES[hindrance]
    more = {}
    if hindrance == "the number of the process":  # only the comparison with the fix's whole run notices this
        more["guarded"] = GUARDED.replace(
            "    if cents > PAID",
            "    import os\n    if os.getpid() != HOME:\n        return {'status': 'lost'}\n    if cents > PAID",
        )
    assert verdicts(start_trier(agent=agent(before, at_top), **more)) == (
        False,
        "passed",
        "assertion",
        "passed",
    )


def test_the_whole_test_is_run_inside_an_event_loop(start_trier):
    source = AGENT.replace("def main", "async def turn").replace("        main()", "        main()")
    source = source.replace(
        "\n\nif __name__", "\n\n\ndef main():\n    import asyncio\n    asyncio.run(turn())\n\n\nif __name__"
    )
    assert verdicts(start_trier(agent=source)) == (False, "passed", "assertion", "passed")


def test_state_on_disk_is_made_anew_for_each_trial(start_trier):
    """The agent writes the balance and the tool counts it down, so each trial must start with the agent's balance."""
    spends = """
    left = int(open("balance").read()) - 1
    open("balance", "w").write(str(left))
    if left != 1:
        return {"status": "spent"}
"""
    trier = start_trier(
        agent=agent("with open('balance', 'w') as file:\n    file.write('2')"),
        guarded=GUARDED.replace("    if cents", f"{spends.strip(chr(10))}\n    if cents"),
    )
    body = f"{''.join(line[4:] + chr(10) for line in spends.strip(chr(10)).splitlines())}{FIX}"
    assert trier.ready.at_cut is False
    assert [trier.ask(body).kind for _ in range(3)] == ["passed"] * 3


def test_an_agent_does_not_notice_the_wait_at_the_checkpoint(start_trier):
    late = "    if time.monotonic() - agent.BEGAN > 1.5:\n        return {'status': 'late'}\n"
    trier = start_trier(
        agent=agent("global BEGAN\nBEGAN = time.monotonic()", "import time\n"),
        guarded="import time\nimport agent\n" + GUARDED.replace("    if cents", f"{late}    if cents"),
    )
    body = f"{''.join(line[4:] + chr(10) for line in late.splitlines())}{FIX}"
    assert trier.ready.at_cut is True
    kinds = [trier.ask(body).kind]
    for _ in range(3):
        time.sleep(0.6)
        kinds.append(trier.ask(body).kind)
    assert kinds == ["passed"] * 4


def test_a_seeded_generator_keeps_its_state_at_the_checkpoint(start_trier):
    trier = start_trier(agent=agent("import random\nrandom.seed(7)"))
    reply = trier.ask("import random\nreturn {'status': 'blocked', 'drawn': random.randrange(1000)}\n")
    assert (trier.ready.at_cut, reply.given[0].outcome) == (
        True,
        f'{{"returned":{{"status":"blocked","drawn":{random.Random(7).randrange(1000)}}}}}',
    )


def test_every_call_runs_the_mutant(start_trier):
    twice = AGENT.replace("    return tools", "    tools.refund(wish['order'], 1)\n    return tools")
    test = TEST.replace("refund[1]", "refund[2]").replace('live=["refund"]', 'live=["refund"], check=False')
    trier = start_trier(agent=twice, test_incident__py=test)
    counts = "global CALLS\nCALLS = globals().get('CALLS', 0) + 1\n"
    reply = trier.ask(f"{counts}return {{'status': 'blocked', 'call': CALLS}}\n")
    assert trier.ready.at_cut is True
    assert [call.outcome for call in reply.given] == [
        '{"returned":{"status":"blocked","call":1}}',
        '{"returned":{"status":"blocked","call":2}}',
    ]


def test_a_process_that_the_mutant_starts_finds_the_replay(start_trier, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    asks = "import json, os; assert os.path.isfile(json.loads(os.environ['AUTOCHRON_CHILD'])['place'] + '/plan.json')"
    starts = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {asks!r}], check=True)\n"
    trier = start_trier()
    assert trier.ready.at_cut is True
    assert [trier.ask(starts + FIX).kind for _ in range(2)] == ["passed", "passed"]
    assert os.listdir(tmp_path / "scratch") == []


def test_a_file_that_a_mutant_leaves_in_the_replays_folder_is_gone_for_the_next(start_trier):
    keeps = """
import json, os, subprocess, sys
subprocess.run([sys.executable, "-c", ""], check=True)
os.mkdir(json.loads(os.environ["AUTOCHRON_CHILD"])["place"] + "/kept")
"""
    trier = start_trier()
    assert trier.ready.at_cut is True
    assert [trier.ask(keeps + FIX).kind for _ in range(3)] == ["passed"] * 3


def test_a_mutant_that_kills_the_checkpoint_process_is_reported(start_trier):
    kills = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nimport time\ntime.sleep(60)\n"
    trier = start_trier()
    reply = trier.ask(kills)
    assert (reply.kind, reply.said) == (
        "signal",
        "it ended the process that was trying it, in whose group it is not",
    )
    assert trier.ask(FIX).kind == "passed"


def test_a_fixture_of_the_project_is_set_up_for_each_trial(start_trier):
    """`tmp_path` is a fixture whose teardown depends on the test's outcome."""
    test = TEST.replace(
        "@pytest.mark.autochron(",
        "@pytest.fixture\ndef paid(tmp_path):\n    (tmp_path / 'paid').write_text('')\n    return tmp_path / 'paid'\n\n\n"
        "@pytest.mark.autochron(",
    ).replace("(replay):", "(replay, paid):\n    paid.unlink()")
    assert verdicts(start_trier(test_incident__py=test)) == (False, "passed", "assertion", "passed")


def test_a_hook_of_the_project_runs_before_each_trial(start_trier):
    hook = (
        "from pathlib import Path\n\n\ndef pytest_runtest_setup(item):\n    Path('ready').write_text('')\n\n\n"
        "def pytest_runtest_teardown(item):\n    Path('ready').unlink()\n"
    )
    test = TEST.replace("    agent.main", "    assert __import__('os').path.exists('ready')\n    agent.main")
    assert verdicts(start_trier(conftest=hook, test_incident__py=test)) == (
        False,
        "passed",
        "assertion",
        "passed",
    )


LANGSMITH = """
import sys
import types

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield)


plugin = types.ModuleType("langsmith.pytest_plugin")
plugin.pytest_runtest_call = pytest_runtest_call
del pytest_runtest_call


def pytest_configure(config):
    config.addinivalue_line("markers", "langsmith: a test that is tracked")
    config.pluginmanager.register(plugin)
"""


@pytest.mark.parametrize(("marker", "at_cut"), [("", True), ("@pytest.mark.langsmith\n", False)])
def test_a_plugin_that_acts_on_a_marker_leaves_other_tests_alone(marker, at_cut, start_trier):
    test = TEST.replace("@pytest.mark.autochron(", f"{marker}@pytest.mark.autochron(")
    trier = start_trier(conftest=LANGSMITH, test_incident__py=test)
    assert verdicts(trier) == (at_cut, "passed", "assertion", "passed")
    reason = "" if at_cut else "a hook of langsmith.pytest_plugin acts around the test"
    assert trier.ready.why_whole == reason


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (
            {"agent": agent("open('log', 'w').close()")},
            "the test reaches outside of its process (open)",
        ),
        (
            {
                "agent": agent(
                    "threading.Thread(target=threading.Event().wait, daemon=True).start()",
                    "import threading\n",
                )
            },
            # Since 3.14 the operating system knows a thread's name.
            f"there is another thread ({'python' if sys.version_info < (3, 14) else 'Thread-1 (wait)'})",
        ),
        (
            {
                "test_incident__py": TEST
                + TEST.partition("@")[1]
                + TEST.partition("@")[2].replace("test_", "test_also_")
            },
            "there are 2 tests",
        ),
        (
            {
                "test_incident__py": "import pytest\n\n\n@pytest.fixture\ndef shop():\n    pass\n"
                + TEST.replace("(replay)", "(replay, shop)")
            },
            "the fixture `shop` acts around the test",
        ),
    ],
    ids=["a file", "a thread", "two tests", "a fixture"],
)
def test_why_the_whole_test_is_run_is_known(files, reason, start_trier):
    assert start_trier(**files).ready.why_whole == reason


def test_the_plugin_that_langchain_brings_along_leaves_tests_alone(start_trier, monkeypatch):
    pytest.importorskip("langsmith")
    monkeypatch.setenv("PYTEST_PLUGINS", "langsmith.pytest_plugin,autochron.pytest_plugin")
    assert verdicts(start_trier()) == (True, "passed", "assertion", "passed")
