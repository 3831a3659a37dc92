"""Snapshots of the state before a recorded run: what they contain, how they are exported, and how a replay uses them."""

import json
import os
import pathlib
import shutil
import sqlite3
import stat
import sys

import pytest

from autochron.effects import snapshots as snapshots_module
from autochron.effects.snapshots import SnapshotFolder
from autochron.store import open_store
from tests.cli.processes import autochron, python, trust, write

RULES = """version = 1
packs = []

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "agent:*"
exclude = ["main"]
"""
AGENT = """
import json, os, sqlite3

def pay(cents):
    db = sqlite3.connect("pay.db")
    db.execute("create table if not exists paid (id integer primary key, cents int)")
    number = db.execute("insert into paid (cents) values (?)", (cents,)).lastrowid
    db.commit()
    db.close()
    with open("log.txt", "a") as file:
        file.write(f"paid {cents}\\n")
    with open("limits.json") as file:
        limits = json.load(file)
    return {"number": number, "limits": limits}

def main():
    print(pay(5000))

if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def paid(tmp_path_factory):
    """Create an agent that has paid once before. No test may change it."""
    folder = tmp_path_factory.mktemp("paid")
    write(folder, {"agent.py": AGENT, "autochron.toml": RULES, "limits.json": '{"most": 100}'})
    assert python(folder, "agent.py").status == 0
    return folder


@pytest.fixture
def project(paid, tmp_path):
    """Return a copy of the agent that has paid once before."""
    return shutil.copytree(paid, tmp_path / "project")


def run(folder, *words):
    done = autochron(folder, "run", *words, "agent.py")
    assert done.status == 0, done.said
    return done.said


def snapshots(folder):
    footer = open_store(str(folder / ".autochron/traces.db")).record("last").footer
    return {snapshot.path: snapshot for snapshot in footer.snapshots}, footer


def replayed(folder, *words):
    done = autochron(folder, "replay", *words)
    return done.text, done.said


def test_a_written_file_is_snapshotted_once_and_readable_by_its_owner_only(project):
    before = (project / "log.txt").read_bytes()
    report = run(project)
    assert "kept as it was before the run: log.txt, pay.db" in report
    taken, footer = snapshots(project)
    assert {path: snapshot.kind for path, snapshot in taken.items()} == {
        "log.txt": "file",
        "pay.db": "sqlite",
    }
    assert [read.path for read in footer.reads] == ["limits.json"]
    folder = project / ".autochron" / "snapshots"
    assert (folder / taken["log.txt"].digest).read_bytes() == before
    assert {stat.S_IMODE(os.stat(folder / name).st_mode) for name in os.listdir(folder)} == {0o600}
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    count = len(os.listdir(folder))
    shutil.copy(folder / taken["log.txt"].digest, project / "log.txt")
    run(project)
    assert (
        len(os.listdir(folder)) == count + 1
    )  # the database has one more row, and the log has its earlier content


def test_a_file_that_has_not_changed_is_not_copied_again(tmp_path):
    folder, file = SnapshotFolder(str(tmp_path / "kept")), tmp_path / "pay.txt"

    def keep(text=None):
        if text is not None:
            file.write_text(text)
            os.utime(file, ns=(next(times),) * 2)
        digest = folder.keep(str(file), is_database=False)
        facts = os.stat(folder.file_of(digest))
        return digest, facts.st_ino, facts.st_mtime

    times = iter(range(10**18, 10**19, 10**17))
    first = keep("one")
    os.utime(folder.file_of(first[0]), (1, 1))
    second = keep()
    assert (second[:2], second[2] > 1) == (first[:2], True)  # the same file, with a new time
    assert keep("two")[0] != first[0]
    assert keep("one")[0] == first[0]
    os.unlink(folder.file_of(first[0]))
    assert keep()[0] == first[0]
    assert folder.has(first[0])


def test_a_replay_starts_from_the_state_before_the_run(project):
    run(project)
    run(project)
    text, report = replayed(project, "last", "--live", "kind:tool")
    assert text == "{'number': 3, 'limits': {'most': 100}}\n", report
    for name in ("pay.db", "log.txt"):
        os.unlink(project / name)
    assert replayed(project, "last", "--live", "kind:tool")[0] == text
    assert sorted(entry for entry in os.listdir(project) if entry in {"pay.db", "log.txt"}) == []


def test_a_replay_starts_without_files_that_did_not_exist_before_the_run(project):
    for name in ("pay.db", "log.txt"):
        os.unlink(project / name)
    assert "log.txt (not there yet), pay.db (not there yet)" in run(project)
    run(project)  # now they exist
    text, report = replayed(
        project, open_store(str(project / ".autochron/traces.db")).summaries()[0].header.id, "--live", "pay"
    )
    assert text == "{'number': 1, 'limits': {'most': 100}}\n", report


def test_no_snapshot_is_taken_if_the_rules_switch_them_off(project):
    write(project, {"autochron.toml": RULES.replace("packs = []", "packs = []\nsnapshot = false")})
    assert "kept as it was" not in run(project)
    assert not (project / ".autochron" / "snapshots").exists()


def test_a_file_too_large_for_a_snapshot_is_reported_with_the_table_that_would_include_it(project):
    write(project, {"log.txt": "x" * 1_100_000})
    report = run(project)
    assert "not kept as it was: log.txt: 1.1 MB, more than the 1.0 MB that are kept (no-snapshot)" in report
    assert '[[snapshot]]\n        path = "log.txt"' in report
    write(project, {"autochron.toml": f'{RULES}\n[[snapshot]]\npath = "log.txt"\n'})
    assert "kept as it was before the run: log.txt (1.1 MB)" in run(project)


def test_a_table_adds_files_that_are_only_read_and_whole_folders(project):
    write(
        project,
        {
            "prompts/a.txt": "a",
            "autochron.toml": f'{RULES}\n[[snapshot]]\npath = "limits.json"\n[[snapshot]]\npath = "prompts"\n',
        },
    )
    write(
        project,
        {"agent.py": AGENT.replace("    return {", '    open("prompts/a.txt").close()\n    return {')},
    )
    run(project)
    taken, footer = snapshots(project)
    assert (taken["limits.json"].kind, taken["prompts/a.txt"].kind, footer.reads) == ("file", "file", ())
    write(project, {"limits.json": '{"most": 1}'})
    assert "{'most': 100}" in replayed(project, "last", "--live", "kind:tool")[0]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "[[snapshot]]\n",
            "autochron.toml:9: [[snapshot]] has no `path`; write a file, a folder or a glob, such as `pay.db`",
        ),
        (
            '[[snapshot]]\npath = "pipe"\n',
            "`path` `pipe` is no file and no folder, so it can't be kept; name a file",
        ),
        ('[[snapshot]]\npth = "x"\n', "[[snapshot]] has no key `pth`"),
        ("snapshot = 3\n", "`snapshot` must be an array of tables, written [[snapshot]], and is an integer"),
    ],
)
def test_a_malformed_snapshot_table_is_refused(project, table, message):
    os.mkfifo(project / "pipe")
    rules = (
        RULES.replace("packs = []", f"packs = []\n{table}") if table.startswith("snapshot") else RULES + table
    )
    write(project, {"autochron.toml": rules})
    done = autochron(project, "run", "agent.py")
    assert (done.status, message in done.said) == (2, True), done.said


def test_a_path_in_a_table_that_nothing_opened_is_reported(project):
    write(project, {"autochron.toml": f'{RULES}\n[[snapshot]]\npath = "py.db"\n'})
    assert "py.db" in run(project)


def test_snapshots_are_exported_only_on_request(project, tmp_path):
    run(project)
    assert autochron(project, "traces", "export", "last", "bare.jsonl").status == 0
    assert not (project / "bare.snapshots").exists()
    done = autochron(
        project, "traces", "export", "last", "whole.jsonl", "--with-snapshots", "--rows", "paid=cents < 10"
    )
    assert done.status == 0, done.said
    assert len(os.listdir(project / "whole.snapshots")) == 2
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    write(other_folder, {"agent.py": AGENT, "autochron.toml": RULES, "limits.json": '{"most": 100}'})
    shutil.copy(project / "whole.jsonl", other_folder)
    shutil.copytree(project / "whole.snapshots", other_folder / "whole.snapshots")
    # The row from before the run was left out.
    assert replayed(other_folder, "whole.jsonl", "--live", "kind:tool", *trust())[0].startswith(
        "{'number': 1,"
    )
    assert "2 snapshots" in autochron(other_folder, "traces", "import", "whole.jsonl").text
    assert len(os.listdir(other_folder / ".autochron" / "snapshots")) == 2
    shutil.rmtree(other_folder / "whole.snapshots")
    shutil.rmtree(other_folder / ".autochron")
    report = replayed(other_folder, "whole.jsonl", "--live", "kind:tool", *trust())[1]
    assert "the content of pay.db before the recorded run is not here" in report


def test_an_export_of_snapshots_with_a_possible_secret_is_refused(project):
    with sqlite3.connect(project / "pay.db") as connection:
        connection.execute("create table customers (name text, api_key text)")
        connection.execute(
            "insert into customers values ('ann', 'sk-proj-abcdefghijklmnopqrstuvwx1234567890ABCD')"
        )
    connection.close()
    run(project)
    words = ("traces", "export", "last", "x.jsonl", "--with-snapshots")
    refused = autochron(project, *words)
    assert (refused.status, 'accept it by name: --accept "pay.db customers.api_key"' in refused.said) == (
        2,
        True,
    )
    assert not (project / "x.snapshots").exists()
    assert not (project / "x.jsonl").exists()
    assert autochron(project, *words, "--accept", "pay.db customers.api_key").status == 0
    assert autochron(project, *words, "--rows", "customers=0").status == 0
    bad = autochron(project, *words, "--rows", "customers=no_column = 1")
    assert (
        bad.status,
        "pay.db refuses that (no such column: no_column); correct the condition" in bad.said,
    ) == (2, True)


def test_an_export_of_snapshots_with_a_secret_of_the_rules_is_refused(project):
    with open(project / "autochron.toml", "a", encoding="utf-8") as file:
        file.write("\n[redact]\npatterns = ['ACME-[0-9]{8}']\n")
    with sqlite3.connect(project / "pay.db") as connection:
        connection.execute("create table customers (name text)")
        connection.execute("insert into customers values ('ACME-12345678')")
    connection.close()
    run(project)
    refused = autochron(project, "traces", "export", "last", "x.jsonl", "--with-snapshots")
    assert (refused.status, 'accept it by name: --accept "pay.db customers.name"' in refused.said) == (
        2,
        True,
    )


def test_a_damaged_snapshot_is_refused(project):
    run(project)
    taken, _ = snapshots(project)
    file = project / ".autochron" / "snapshots" / taken["log.txt"].digest
    file.write_bytes(b"other")
    done = autochron(project, "replay", "last", "--live", "kind:tool")
    assert (done.status, "the snapshot of log.txt is damaged" in done.said) == (2, True), done.said


def test_traces_show_lists_snapshots_and_prune_drops_them(project):
    run(project)
    shown = autochron(project, "traces", "show", "last").text
    assert "before the run: log.txt  file, 10 bytes, sha256 " in shown
    folder = project / ".autochron" / "snapshots"
    for name in os.listdir(folder):
        os.utime(folder / name, (1, 1))
    assert autochron(project, "traces", "prune", "--max-size", "0MB").status == 0
    assert os.listdir(folder) == []


def test_a_database_with_a_write_ahead_log_is_snapshotted_completely(project):
    connection = sqlite3.connect(project / "pay.db")
    connection.execute("pragma journal_mode=wal")
    connection.execute("insert into paid (cents) values (7)")
    connection.commit()
    before = {
        name: (project / name).read_bytes() for name in os.listdir(project) if name.startswith("pay.db")
    }
    assert "pay.db-wal" in before
    write(
        project,
        {
            "agent.py": AGENT.replace(
                'sqlite3.connect("pay.db")', 'sqlite3.connect("file:pay.db?mode=ro", uri=True)'
            ).replace(
                '    db.execute("create table',
                "    return db.execute('select count(*) from paid').fetchone()\n    db.execute(\"create table",
            )
        },
    )
    run(project)
    connection.close()
    connection = sqlite3.connect(project / "pay.db")
    connection.execute("delete from paid")
    connection.commit()
    connection.close()
    assert replayed(project, "last", "--live", "kind:tool")[0] == "(2,)\n"


@pytest.mark.parametrize("start", ["fork", "subprocess"])
def test_files_of_child_processes_are_snapshotted_and_not_changed_by_a_replay(project, start):
    call = {
        "fork": (
            "    child = os.fork()\n    if not child:\n        pay(5000)\n        os._exit(0)\n    os.waitpid(child, 0)\n"
        ),
        "subprocess": "    import subprocess, sys\n    subprocess.run([sys.executable, 'child.py'], check=True)\n",
    }[start]
    write(project, {"child.py": "import agent\nagent.pay(5000)\n"})
    write(project, {"agent.py": AGENT.replace("    print(pay(5000))\n", call)})
    before = (project / "log.txt").read_bytes()
    run(project)
    taken, _ = snapshots(project)
    assert {"log.txt", "pay.db"} <= taken.keys()
    after = (project / "log.txt").read_bytes()
    assert after != before
    replayed(project, "last", "--live", "kind:tool")
    assert (project / "log.txt").read_bytes() == after


def test_a_path_of_the_state_is_not_passed_to_another_program(project):
    write(
        project,
        {"agent.py": AGENT.replace("    return {", '    os.system("echo more >> log.txt")\n    return {')},
    )
    run(project)
    before = (project / "log.txt").read_bytes()
    report = replayed(project, "last", "--live", "kind:tool")[1]
    assert "pay[1] starts a child process of echo with log.txt" in report
    assert (project / "log.txt").read_bytes() == before


STARTS = {
    "subprocess.run([sys.executable, 'child.py', LOG])": None,
    "subprocess.run(['bin/pypy3', 'child.py', LOG])": None,
    "subprocess.run([sys.executable, '-I', 'child.py', LOG])": "python",
    "subprocess.run([sys.executable, 'child.py', LOG], env={})": "python",
    "subprocess.run(['./wild-python.sh', LOG])": "wild-python.sh",
    "os.spawnv(os.P_WAIT, './wild-python.sh', ['wild-python.sh', LOG])": "wild-python.sh",
}
"""Starts of processes that add a line to LOG, each with the program in the message if a replay refuses it."""

STARTER = """
def start_{number}():
    LOG = "log{number}.txt"
    with open(LOG, "a") as file:
        file.write("paid\\n")
    {start}
"""


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    """Record a program with a function and a file for each of STARTS. No replay changes any of its files."""
    folder = tmp_path_factory.mktemp("starts")
    agent = "import os, subprocess, sys\n"
    agent += "".join(STARTER.format(number=at, start=start) for at, start in enumerate(STARTS))
    agent += "def main():\n" + "".join(f"    start_{at}()\n" for at in range(len(STARTS))) + "main()\n"
    code = "import sys\nwith open(sys.argv[1], 'a') as file:\n    file.write('more\\n')\n"
    write(folder, {"agent.py": agent, "autochron.toml": RULES, "child.py": code})
    write(folder, {f"log{at}.txt": "before\n" for at in range(len(STARTS))})
    write(folder, {"wild-python.sh": '#!/bin/sh\necho more >> "$1"\n'})
    (folder / "wild-python.sh").chmod(0o755)
    # A virtual environment like ours, whose interpreter has another name.
    environment = pathlib.Path(sys.prefix)
    (folder / "bin").mkdir()
    (folder / "bin" / "pypy3").symlink_to(os.path.realpath(sys.executable))
    (folder / "lib").symlink_to(environment / "lib")
    (folder / "pyvenv.cfg").write_bytes((environment / "pyvenv.cfg").read_bytes())
    run(folder)
    return folder


@pytest.mark.parametrize("start", STARTS)
def test_a_path_of_the_state_is_handed_to_processes_that_join(starts, start):
    number, refused = list(STARTS).index(start), STARTS[start]
    log = starts / f"log{number}.txt"
    before = log.read_bytes()
    said = replayed(starts, "last", "--live", f"start_{number}")[1]
    message = f"start_{number}[1] starts a child process of {refused}"
    assert (message in said, "denied" in said) == (refused is not None, refused is not None), said
    assert (before, log.read_bytes()) == (b"before\npaid\nmore\n", before)


def test_an_operation_that_bypasses_the_redirection_is_refused(project):
    bypass = '    import posix\n    posix.unlink("log.txt")\n    return {'
    write(project, {"agent.py": AGENT.replace("    return {", bypass)})
    run(project)
    write(project, {"log.txt": "mine\n"})
    report = replayed(project, "last", "--live", "kind:tool")[1]
    assert "past the scratch copy that a replay works on, so it is refused" in report
    assert (project / "log.txt").read_text() == "mine\n"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_file_that_was_open_before_a_replay_is_written_on_the_copy(project):
    script = """
import sys, json, sqlite3
LOG = open("log.txt", "a")
LOG.write("buffered before\\n")
import agent, autochron
agent.LOG = LOG
with autochron.replay("last", live="kind:tool", check=False) as replay:
    agent.main()
LOG.write("after\\n")
LOG.close()
"""
    write(
        project,
        {
            "agent.py": AGENT.replace(
                '    with open("log.txt", "a") as file:\n        file.write(',
                "    if LOG:\n        LOG.write(",
            )
            + "\n"
        },
    )
    write(
        project,
        {
            "agent.py": "LOG = None\n"
            + (project / "agent.py").read_text().replace("import json", "import json", 1),
            "script.py": script,
        },
    )
    write(
        project,
        {
            "agent.py": (project / "agent.py")
            .read_text()
            .replace("    if LOG:", "    if LOG is None:\n        open('log.txt', 'a').close()\n    else:")
        },
    )
    run(project)
    before = (project / "log.txt").read_text()
    done = python(project, "script.py")
    assert done.status == 0, done.said
    assert (project / "log.txt").read_text() == f"{before}buffered before\nafter\n"


def test_an_open_database_is_reported_and_not_changed(project):
    script = """
import sqlite3
DB = sqlite3.connect("pay.db")
import agent, autochron
real = agent.sqlite3.connect
class Held:
    connect = staticmethod(lambda path: DB)
agent.sqlite3 = Held
DB.execute("select 1 from paid").fetchall()
with autochron.replay("last", live="kind:tool", check=False) as replay:
    try:
        agent.main()
    except Exception as error:
        print(type(error).__name__, error)
    verdict = replay.verdict("pay[1]")
print(verdict.kind, any("was open before the replay began" in each for each in verdict.crossings[0].reasons))
print(DB.execute("select count(*) from paid").fetchone())
"""
    run(project)
    write(project, {"script.py": script})
    done = python(project, "script.py")
    assert done.status == 0, done.said
    assert done.text.splitlines()[-2:] == ["inconclusive True", "(2,)"], done.text


KEEPS = """
import asyncio, functools, queue, types

PAID = []

class Till:
    count = 0
    def note(self, cents):
        self.paid = cents

class Drawer:
    __slots__ = ("coins",)

TILL = {"a": Till()}
DRAWER = Drawer()
DRAWER.coins = 1
WAITING = queue.Queue()
LATER = asyncio.Queue()
SPACE = types.SimpleNamespace(paid=0)

def make_counter():
    counted, seen = 0, []
    def count(cents):
        nonlocal counted
        counted += 1
        seen.append(cents)
        return counted, seen
    return count

COUNTERS = {"pay": make_counter()}
bound = Till().note
later = functools.partial(print, [])

@functools.lru_cache
def looked_up(cents):
    return cents * 2

def pay(cents):
    PAID.append(cents)
    Till.count += 1
    TILL["a"].last = cents
    TILL["b"] = 1
    DRAWER.coins += cents
    WAITING.put(cents)
    LATER.put_nowait(cents)
    SPACE.paid += cents
    COUNTERS["pay"](cents)
    bound(cents)
    later.args[0].append(cents)
    pay.calls = getattr(pay, "calls", 0) + 1
    looked_up(cents)
    global LAST
    LAST = cents
    return len(PAID)

def state():
    counted = [cell.cell_contents for cell in COUNTERS["pay"].__closure__]
    return [
        PAID, Till.count, list(TILL), vars(TILL["a"]), DRAWER.coins, list(WAITING.queue), LATER.qsize(), SPACE.paid,
        counted, vars(bound.__self__), later.args, vars(pay).get("calls"), looked_up.cache_info().currsize,
    ]

def main():
    print(pay(5000))

if __name__ == "__main__":
    main()
"""
KEEPS_TEST = """
import agent, copy, pytest

SAME, BEFORE = agent.PAID, copy.deepcopy(agent.state())

@pytest.mark.parametrize("n", range(3))
@pytest.mark.autochron("t.jsonl", live="kind:tool")
def test_it(replay, n):
    agent.main()
    assert replay["pay[1]"].result == 1
    assert [one == other for one, other in zip(agent.state(), BEFORE)] == [False] * len(BEFORE)

def test_after():
    assert (agent.state(), agent.PAID is SAME) == (BEFORE, True)
"""
KEPT = [
    "agent.py:PAID: added 5000",
    'agent.py:Till.count: changed {"after": 1, "before": 0}',
    "agent.py:TILL: added at a.last 5000",
    "agent.py:TILL: added at b 1",
    'agent.py:DRAWER: changed at coins {"after": 5001, "before": 1}',
    "agent.py:WAITING: added at queue 5000",
    'agent.py:WAITING: changed at unfinished_tasks {"after": 1, "before": 0}',
    'agent.py:LATER: changed at _unfinished_tasks {"after": 1, "before": 0}',
    "agent.py:LATER: added at _queue 5000",
    'agent.py:SPACE: changed at paid {"after": 5000, "before": 0}',
    'agent.py:COUNTERS: changed at pay.closure.counted {"after": 1, "before": 0}',
    "agent.py:COUNTERS: added at pay.closure.seen 5000",
    "agent.py:bound: added at paid 5000",
    "agent.py:later: added at args.0 5000",
    'agent.py:pay: added at attributes {"calls": 1}',
    "agent.py:LAST: added 5000",
]


@pytest.fixture
def keeper(project):
    """Create an agent that keeps its state in many kinds of objects, and record it."""
    rules = RULES.replace("agent:*", "agent:pay")
    write(project, {"agent.py": KEEPS, "autochron.toml": rules})
    run(project)
    return project


def test_globals_are_restored_between_tests(keeper):
    write(keeper, {"test_it.py": KEEPS_TEST})
    assert autochron(keeper, "traces", "export", "last", "t.jsonl").status == 0
    done = python(keeper, "-m", "pytest", "-q", "-p", "no:ddtrace", "test_it.py")
    assert "4 passed" in done.text, done.text


def test_state_that_a_tool_keeps_in_objects_is_an_effect(keeper):
    script = """
import agent, autochron
replay = autochron.replay("last", live="pay", check=False)
replay.observe()
with replay:
    agent.main()
    print(*(f"{each.path}: {each.what} {each.value.decode()}" for each in replay.verdict().effects), sep="\\n")
"""
    write(keeper, {"script.py": script})
    done = python(keeper, "script.py")
    assert done.text.splitlines()[1:] == KEPT, done.said


LINKS = """
import os, shutil

def release(name):
    found = [open("current/version").read(), os.path.islink("old"), os.path.islink("tmp/moves")]
    os.symlink(name, "current.new")
    os.replace("current.new", "current")
    os.unlink("old")
    os.rename("tmp/moves", "moved")
    shutil.rmtree("tmp")
    return [*found, open("current/version").read(), os.path.lexists("old"), os.readlink("moved")]

def main():
    print(release("v2"))

if __name__ == "__main__":
    main()
"""


def test_a_replay_starts_with_the_symbolic_links_from_before_the_run(project):
    write(project, {"agent.py": LINKS, "v1/version": "1", "v2/version": "2", "tmp/x.txt": "x"})
    (project / "current").symlink_to("v1")
    (project / "old").symlink_to(project / "v1")
    (project / "tmp" / "moves").symlink_to("../v2")
    run(project)
    taken, _ = snapshots(project)
    links = {path: snapshot.target for path, snapshot in taken.items() if snapshot.kind == "link"}
    assert links == {"current": "v1", "old": str(project / "v1"), "tmp/moves": "../v2"}
    after = sorted(os.listdir(project))
    for _ in range(2):
        text, report = replayed(project, "last", "--live", "kind:tool")
        assert text == "['1', True, True, '2', False, '../v2']\n", report
    assert sorted(os.listdir(project)) == after
    assert os.readlink(project / "current") == "v2"
    assert "before the run: current  link to v1" in autochron(project, "traces", "show", "last").text


MODES = """
import os

def share(name):
    before = oct(os.stat(name).st_mode & 0o777), os.stat(name).st_mtime
    os.chmod(name, 0o640)
    with open(name) as file:
        os.utime(file.fileno(), (2, 2))
        os.fchmod(file.fileno(), 0o644)
    return before, oct(os.stat(name).st_mode & 0o777), os.stat(name).st_mtime

def main():
    print(share("salary.txt"))

if __name__ == "__main__":
    main()
"""


def test_a_replay_starts_with_the_modes_and_times_from_before_the_run(project):
    write(project, {"agent.py": MODES, "salary.txt": "10"})
    os.chmod(project / "salary.txt", 0o600)
    os.utime(project / "salary.txt", (1, 1))
    run(project)
    before = os.stat(project / "salary.txt")
    for _ in range(2):
        text, report = replayed(project, "last", "--live", "kind:tool")
        assert text == "(('0o600', 1.0), '0o644', 2.0)\n", report
    after = os.stat(project / "salary.txt")
    assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


def test_a_replay_refuses_to_change_the_mode_of_a_file_without_a_snapshot(project):
    write(
        project,
        {"agent.py": MODES.replace("def share(name):", "def share(name):\n    return 1"), "salary.txt": "10"},
    )
    run(project)
    write(project, {"agent.py": MODES.replace("    os.chmod(name, 0o640)\n", "")})
    before = os.stat(project / "salary.txt")
    report = replayed(project, "last", "--live", "kind:tool")[1]
    after = os.stat(project / "salary.txt")
    assert "past the scratch copy that a replay works on, so it is refused" in report
    assert (after.st_mode, after.st_ctime_ns) == (before.st_mode, before.st_ctime_ns)


@pytest.mark.slow
def test_the_baseline_of_an_incident_contains_no_rows(project):
    run(project)
    done = autochron(project, "incident", "new", "last", "x")
    assert done.status == 0, done.text + done.said
    baseline = json.loads((project / "x" / "baseline.json").read_text())
    assert (baseline["runs"], baseline["settled"], list(baseline["crossings"])) == (3, True, ["pay[1]"])
    assert "paid" not in json.dumps(baseline["crossings"])


def test_pruning_goes_on_where_another_process_has_removed_a_content(tmp_path, monkeypatch):
    folder = SnapshotFolder(str(tmp_path))
    for name in ("first", "second", "third"):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (1, 1))
    listed = snapshots_module.os.listdir

    def listed_before(path):
        """List a folder, in which another process then prunes, too."""
        names = sorted(listed(path))
        os.unlink(tmp_path / "second")
        return names

    monkeypatch.setattr(snapshots_module.os, "listdir", listed_before)
    assert (folder.drop_all_but({"first"}), sorted(os.listdir(tmp_path))) == (len("third"), ["first"])


def test_a_content_that_is_pruned_as_it_is_kept_again_is_copied_again(tmp_path, monkeypatch):
    folder, file = SnapshotFolder(str(tmp_path / "kept")), tmp_path / "pay.txt"
    file.write_text("paid")
    os.utime(file, (1, 1))
    digest = folder.keep(str(file), is_database=False)

    def pruned(path, *_, **__):
        """Set times, where another process has just pruned."""
        monkeypatch.undo()
        os.unlink(path)
        os.utime(path)

    monkeypatch.setattr(snapshots_module.os, "utime", pruned)
    assert (folder.keep(str(file), is_database=False), folder.has(digest)) == (digest, True)


# --- changes of files are denied --------------------------------------------------------------------------------------

DENIED = """
import sqlite3

def text():
    return open("limits.json").read()

def database():
    return sqlite3.connect("pay.db").execute("select cents from paid").fetchall()

def read_only():
    return sqlite3.connect("file:pay.db?mode=ro", uri=True).execute("select cents from paid").fetchall()

def attached():
    db = sqlite3.connect("work.db")
    db.execute("attach 'pay.db' as books")
    return db.execute("select cents from books.paid").fetchall()

def inserted():
    db = sqlite3.connect("pay.db")
    db.execute("insert into paid (cents) values (7)")
    db.commit()

def change():
    sqlite3.connect("work.db").execute("insert into t values (1)")
    with open("limits.json", "a") as file:
        file.write(" ")

def main():
    for act in (text, database, read_only, attached, inserted):
        try:
            print(act())
        except sqlite3.DatabaseError as error:
            print("refused:", error)
    inserted()
    change()

if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def changed(paid, tmp_path_factory):
    """Record a program that reads and changes files in several ways, and change the files again. No replay changes any."""
    folder = shutil.copytree(paid, tmp_path_factory.mktemp("denied") / "project")
    write(folder, {"agent.py": DENIED})
    with sqlite3.connect(folder / "work.db") as connection:
        connection.execute("create table t (x)")
    connection.close()
    run(folder)
    with sqlite3.connect(folder / "pay.db") as connection:
        connection.execute("delete from paid")
    connection.close()
    (folder / "limits.json").write_text("today")
    return folder


@pytest.mark.parametrize(
    ("act", "printed"),
    [
        ("text", '{"most": 100}'),
        ("database", "[(5000,)]"),
        ("read_only", "[(5000,)]"),
        ("attached", "refused: not authorized"),
        ("inserted", "refused: not authorized"),
    ],
)
def test_where_changes_are_denied_what_is_live_reads_the_state_of_then(changed, act, printed):
    said = replayed(changed, "last", "--live", act, "--deny", "files")
    number = ("text", "database", "read_only", "attached", "inserted").index(act)
    assert said[0].splitlines()[number : number + 1] == [printed], said
    refusals = {
        "attached": "attached[1] attaches the database pay.db",
        "inserted": "writes to the database pay.db at",
    }
    assert refusals.get(act, "") in said[1]
