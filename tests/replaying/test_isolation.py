"""What a replay denies to live crossings: the network, other processes, changes of files. Each is refused and reported."""

import asyncio
import contextlib
import functools
import importlib
import os
import pathlib
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading

import pytest

import autochron
from autochron.errors import DeniedError, DivergenceError, NetworkRefusedError, PlanError
from autochron.instrument.activation import deactivate
from autochron.isolation.sqlite import guard_open

TOOLS = """
import asyncio, threading
from concurrent.futures import ThreadPoolExecutor

def tool(do):
    return do()

def swallows(do):
    try:
        return do()
    except Exception as error:
        return "tried: " + type(error).__name__

async def tool_async(do):
    await asyncio.sleep(0)
    return do()

async def task(do):
    async def inner():
        return do()
    return await asyncio.create_task(inner())

async def in_thread(do):
    return await asyncio.to_thread(do)

async def in_executor(do):
    return await asyncio.get_running_loop().run_in_executor(None, do)

def pool(do):
    with ThreadPoolExecutor() as executor:
        return executor.submit(do).result()

def thread(do):
    raised = []
    def run():
        try:
            do()
        except BaseException as error:
            raised.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    for error in raised:
        raise error

def stream(do):
    yield 1
    yield do()

def outlived(do, threads):
    thread = threading.Thread(target=do)
    threads.append(thread)
    thread.start()

def outer(do):
    do()
    return served_inside(do)

def served_inside(do):
    return do()

def opened(do):
    tool(lambda: 1)
    do()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Yield a module of tools, each a boundary, woven once for all tests."""
    folder = tmp_path_factory.mktemp("home")
    name = "isolated_tools"
    (folder / f"{name}.py").write_text(TOOLS, encoding="utf-8")
    (folder / "autochron.toml").write_text(
        f"""version = 1
packs = []
project = ["."]

[[boundary]]
name = "{{__name__}}"
kind = "tool"
define = "{name}:*"
volatile = ["do", "threads"]
""",
        encoding="utf-8",
    )
    sys.path.insert(0, str(folder))
    yield importlib.import_module(name)
    deactivate()
    sys.path.remove(str(folder))
    del sys.modules[name]


@pytest.fixture
def folder(home, monkeypatch):
    """Empty the folder of the tools, and work in it."""
    place = pathlib.Path(home.__file__).parent
    for path in place.iterdir():
        if path.name not in {"autochron.toml", f"{home.__name__}.py"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    monkeypatch.chdir(place)
    importlib.invalidate_caches()
    return place


@pytest.fixture
def project(home, folder):
    """Return the tools."""
    return home


def nothing():
    """Do nothing: what the recorded tool does in place of the replay's action."""


def recorded(call):
    """Return the trace of a call whose tool does nothing."""
    with autochron.record(store="memory:", rules="autochron.toml") as recording:
        call(nothing)
    return recording.trace()


def replayed(trace, call, do, deny, live="kind:tool"):
    """Replay the call with a tool that acts. Return the replay, and the error that was raised or None."""
    with autochron.replay(trace, rules="autochron.toml", live=live, deny=deny, check=False) as replay:
        try:
            call(do)
        except Exception as error:
            return replay, error
    return replay, None


def denials(replay):
    return [divergence.message for divergence in replay.divergences if divergence.kind == "denied"]


def write():
    with open("out.txt", "w") as file:
        file.write("changed")


def start():
    subprocess.run(["true", "--secret=hush"], check=True)


def connect():
    socket.create_connection(("127.0.0.1", 9), timeout=5)


DOES = {
    "network": (connect, "reaches for 127.0.0.1:9", "the network is denied"),
    "subprocess": (start, "starts a child process of true", "other processes are denied"),
    "files": (write, "opens out.txt for writing", "changes of files are denied"),
}


def in_uvloop(make):
    def do():
        import uvloop

        async def main():
            await make(asyncio.get_running_loop())

        uvloop.run(main())

    return do


def to_loopback(loop):
    return asyncio.open_connection("127.0.0.1", 9)


WAYS = {
    "sync": lambda m, do: m.tool(do),
    "coroutine": lambda m, do: asyncio.run(m.tool_async(do)),
    "task": lambda m, do: asyncio.run(m.task(do)),
    "asyncio thread": lambda m, do: asyncio.run(m.in_thread(do)),
    "executor": lambda m, do: asyncio.run(m.in_executor(do)),
    "thread": lambda m, do: m.thread(do),
    "pool": lambda m, do: m.pool(do),
    "generator": lambda m, do: list(m.stream(do)),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("deny", DOES)
def test_a_denied_action_is_refused_and_reported(deny, way, project):
    do, says, why = DOES[deny]

    def call(do):
        return way(project, do)

    trace = recorded(call)
    address = trace.envelopes[0].address
    replay, error = replayed(trace, call, do, deny)
    assert type(error) is DeniedError
    (message,) = denials(replay)
    assert error.message == message
    assert message.startswith(f"{address} {says} ")
    assert why in message
    assert f"leave {deny} out of what is denied" in message
    assert "hush" not in message
    assert [
        (divergence.address, divergence.severity)
        for divergence in replay.divergences
        if divergence.kind == "denied"
    ] == [(address, "error")]
    with pytest.raises(DivergenceError, match=r"\(divergence\)"):
        replay.verify()
    assert not os.path.exists("out.txt")


@pytest.mark.parametrize("deny", DOES)
def test_a_refusal_that_the_tool_swallows_is_reported_too(deny, project):
    do, says, _ = DOES[deny]
    trace = recorded(project.swallows)
    replay, error = replayed(trace, project.swallows, do, deny)
    assert (error, replay["swallows[1]"].result) == (None, "tried: DeniedError")
    (message,) = denials(replay)
    assert says in message
    assert [divergence.kind for divergence in replay["swallows[1]"].divergences] == ["denied", "outcome"]
    with pytest.raises(DivergenceError, match=says):
        replay.verify()


@pytest.mark.parametrize("deny", DOES)
def test_actions_that_are_not_denied_are_allowed(deny, project):
    allowed = [do for name, (do, *_) in DOES.items() if name != deny]

    def do():
        for action in allowed:
            try:
                action()
            except ConnectionRefusedError:
                pass  # raised by the machine: nobody listens there
        return "done"

    replay, error = replayed(recorded(project.tool), project.tool, do, deny)
    assert (error, replay["tool[1]"].result, denials(replay)) == (None, "done", [])


def test_without_a_denial_nothing_is_refused(project):
    def do():
        write()
        start()
        with pytest.raises(ConnectionRefusedError):
            connect()

    replay, error = replayed(recorded(project.tool), project.tool, do, ())
    # Nothing is refused, and the file was written into the replay's scratch copy.
    assert (error, denials(replay), os.path.exists("out.txt")) == (None, [], False)


def test_the_refusal_is_a_permission_error_with_an_errno(project):
    _, error = replayed(recorded(project.tool), project.tool, write, "files")
    assert (isinstance(error, PermissionError), error.errno) == (True, 13)


def test_a_place_is_reported_once_for_each_crossing(project):
    def do():
        for _ in range(3):
            try:
                write()
            except PermissionError:
                pass

    def call(do):
        project.tool(do)
        project.tool(do)

    replay, _ = replayed(recorded(call), call, do, "files")
    assert [message.partition(" at ")[0].partition(" in ")[0] for message in denials(replay)] == [
        "tool[1] opens out.txt for writing",
        "tool[2] opens out.txt for writing",
    ]


def test_all_actions_of_a_flood_are_refused_and_a_hundred_are_reported(project):
    def do():
        refused = 0
        for number in range(120):
            try:
                open(f"{number}.txt", "w")
            except PermissionError:
                refused += 1
        return refused

    replay, _ = replayed(recorded(project.tool), project.tool, do, "files")
    assert (replay["tool[1]"].result, len(denials(replay))) == (120, 100)


def test_several_kinds_of_action_are_denied_at_once(project):
    def do():
        for deed, *_ in DOES.values():
            try:
                deed()
            except DeniedError:
                pass

    replay, _ = replayed(recorded(project.tool), project.tool, do, ["files", "network", "subprocess"])
    assert [message.split(" ")[1] for message in denials(replay)] == ["reaches", "starts", "opens"]


def test_a_refusal_names_the_projects_line(project, folder):
    (folder / "writing.py").write_text("import shutil\n\ndef save():\n    shutil.copy('a', 'b')\n")
    (folder / "a").write_text("a")
    import writing

    replay, _ = replayed(recorded(project.tool), project.tool, writing.save, "files")
    del sys.modules["writing"]
    (message,) = denials(replay)
    assert "tool[1] opens b for writing at writing.py:4, " in message


def test_a_refusal_without_a_line_of_the_project_names_the_boundary(project):
    def call(do):
        return asyncio.run(project.in_executor(do))

    trace = recorded(call)
    replay, _ = replayed(trace, call, functools.partial(os.mkdir, "made"), "files")
    (message,) = denials(replay)
    assert f"makes the folder made in {project.__name__}.py:in_executor, " in message


# --- files ---------------------------------------------------------------------------------------------------------------


def descriptor(path, flags):
    os.close(os.open(path, flags))


def in_unix_folder():
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("new")


CHANGES = {
    "write": (lambda: open("new", "w"), "opens new for writing"),
    "append": (lambda: open("old", "a"), "opens old for writing"),
    "create": (lambda: open("new", "x"), "opens new for writing"),
    "update": (lambda: open("old", "r+b"), "opens old for writing"),
    "by bytes": (lambda: open(b"old", "w"), "opens old for writing"),
    "os.open": (lambda: descriptor("old", os.O_WRONLY), "opens old for writing"),
    "os.open to truncate": (lambda: descriptor("old", os.O_RDONLY | os.O_TRUNC), "opens old for writing"),
    "remove": (lambda: os.remove("old"), "removes old"),
    "replace": (lambda: os.replace("old", "new"), "renames old to new"),
    "link": (lambda: os.link("old", "new"), "makes the link new"),
    "symlink": (lambda: os.symlink("old", "new"), "makes the link new"),
    "mkdir": (lambda: os.makedirs("folder/new"), "makes the folder folder/new"),
    "rmdir": (lambda: os.rmdir("folder"), "removes the folder folder"),
    "rmtree": (lambda: shutil.rmtree("folder"), "removes the folder folder"),
    "chmod": (lambda: os.chmod("old", 0o600), "changes the mode of old"),
    "chown": (lambda: os.chown("old", -1, -1), "changes the owner of old"),
    "truncate": (lambda: os.truncate("old", 0), "truncates old"),
    "utime": (lambda: os.utime("old"), "changes the times of old"),
    "mkfifo": (lambda: os.mkfifo("new"), "makes the pipe new"),
    "mknod": (lambda: os.mknod("new"), "makes the file new"),
    "socket": (in_unix_folder, "makes the socket new"),
    "touch": (lambda: pathlib.Path("new").touch(), "opens new for writing"),
    "copy": (lambda: shutil.copy("old", "new"), "opens new for writing"),
    "move": (lambda: shutil.move("old", "new"), "renames old to new"),
    "mkstemp": (tempfile.mkstemp, f"makes a temporary file in {tempfile.gettempdir()}"),
    "mkdtemp": (tempfile.mkdtemp, f"makes a temporary folder in {tempfile.gettempdir()}"),
    "unnamed": (tempfile.TemporaryFile, f"makes a temporary file in {tempfile.gettempdir()}"),
    "database": (lambda: sqlite3.connect("new"), "makes the database new"),
    "database by address": (
        lambda: sqlite3.connect("file:new?mode=rwc", uri=True),
        "makes the database new",
    ),
}


@pytest.mark.parametrize(("change", "says"), CHANGES.values(), ids=CHANGES)
def test_every_change_of_a_file_is_refused(change, says, project, folder):
    (folder / "old").write_text("old")
    (folder / "folder").mkdir()
    trace = recorded(project.tool)
    before = snapshot(folder)
    replay, error = replayed(trace, project.tool, change, "files")
    assert type(error) is DeniedError
    message = denials(replay)[0]  # `shutil.move` goes on to copy
    assert message.startswith((f"tool[1] {says} at ", f"tool[1] {says} in "))
    assert snapshot(folder) == before


def snapshot(folder):
    files = {}
    for path in folder.rglob("*"):
        if "__pycache__" not in path.parts:
            facts = path.lstat()
            files[str(path)] = (facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ino)
    return files


def in_folder():
    folder = os.open("folder", os.O_RDONLY)
    try:
        os.unlink("inner", dir_fd=folder)
    finally:
        os.close(folder)


def test_a_path_relative_to_a_descriptor_is_named_in_full(project, folder):
    (folder / "folder").mkdir()
    (folder / "folder" / "inner").write_text("")
    replay, error = replayed(recorded(project.tool), project.tool, in_folder, "files")
    assert type(error) is DeniedError
    assert "tool[1] removes folder/inner " in denials(replay)[0]


def through_a_pipe():
    reads, writes = os.pipe()
    with open(writes, "w") as stream:
        stream.write("x")
    with open(reads) as stream:
        return stream.read()


def in_memory():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (1)")
        return connection.execute("SELECT * FROM t").fetchall()


def reads_database():
    with contextlib.closing(sqlite3.connect("data.db")) as connection:
        connection.execute("CREATE TEMP TABLE scratch (x)")
        return connection.execute("SELECT x FROM t").fetchall()


def reads_only():
    with contextlib.closing(sqlite3.connect("file:data.db?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT x FROM t").fetchall()


def fails(expected, deed):
    def do():
        with pytest.raises(expected) as caught:
            deed()
        return caught.value.__class__ is expected

    return do


ALLOWED = {
    "reading": lambda: pathlib.Path("old").read_text(),
    "reading by flags": lambda: descriptor("old", os.O_RDONLY),
    "nothing": lambda: open(os.devnull, "w").close(),
    "standard streams": lambda: print("said", file=sys.stderr),
    "a stream by name": lambda: open("/dev/stderr", "w").close(),
    "a pipe": through_a_pipe,
    "a socket pair": lambda: [each.close() for each in socket.socketpair()],
    "a folder that is there": lambda: os.makedirs("folder", exist_ok=True),
    "a file that isn't": fails(FileNotFoundError, lambda: os.remove("none")),
    "a file that isn't, to move": fails(FileNotFoundError, lambda: os.rename("none", "new")),
    "a lock that is held": fails(FileExistsError, lambda: open("old", "x")),
    "where temporary files are": lambda: setattr(tempfile, "tempdir", None) or tempfile.gettempdir(),
    "a temporary file in memory": lambda: tempfile.SpooledTemporaryFile().close(),
    "a database in memory": in_memory,
    "a database that is read": reads_database,
    "a database that is read only": reads_only,
    "an event of someone else's": lambda: sys.audit("open", "old"),
    "an event loop": lambda: asyncio.run(asyncio.sleep(0)),
}


@pytest.mark.parametrize("deed", ALLOWED.values(), ids=ALLOWED)
def test_an_action_that_changes_no_file_is_allowed(deed, project, folder):
    (folder / "old").write_text("old")
    (folder / "folder").mkdir()
    database(folder).close()
    replay, error = replayed(recorded(project.tool), project.tool, deed, ["files", "network"])
    assert (error, denials(replay)) == (None, [])


def database(folder):
    connection = sqlite3.connect(folder / "data.db")
    connection.execute("CREATE TABLE t (x)")
    connection.execute("INSERT INTO t VALUES (1)")
    connection.commit()
    return connection


STATEMENTS = [
    "INSERT INTO t VALUES (2)",
    "UPDATE t SET x = 2",
    "DELETE FROM t",
    "DROP TABLE t",
    "CREATE TABLE u (x)",
    "ALTER TABLE t RENAME TO u",
    "CREATE INDEX i ON t (x)",
]


@pytest.mark.parametrize("older", [False, True], ids=["its own connection", "an older one"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_change_of_a_database_is_refused(statement, older, project, folder):
    database(folder).close()
    trace = recorded(project.tool)
    opened = []

    def call(do):
        opened.append(sqlite3.connect("data.db"))
        opened[0].execute("CREATE TABLE IF NOT EXISTS mine (x)")  # outside the live crossing
        opened[0].commit()
        project.tool(do)

    def do():
        connection = opened[0] if older else sqlite3.connect("data.db")
        try:
            connection.execute(statement)
            connection.commit()
        finally:
            if not older:
                connection.close()

    replay, error = replayed(trace, call, do, "files")
    assert (isinstance(error, sqlite3.DatabaseError), str(error)) == (True, "not authorized")
    (message,) = denials(replay)
    assert message.startswith("tool[1] writes to the database data.db ")
    opened[0].execute("INSERT INTO mine VALUES (1)")  # after the replay
    assert opened[0].execute("SELECT * FROM t").fetchall() == [(1,)]
    opened[0].close()


class CountingConnection(sqlite3.Connection):
    """A program's own class, with a method that calls the original one."""

    count = 0

    def __init_subclass__(cls):
        raise TypeError("no subclasses, please")

    def set_authorizer(self, authorizer_callback):
        self.count += 1
        super().set_authorizer(authorizer_callback)


def denies_reading(action, first, *_):
    """Deny to read the table `secret`."""
    return sqlite3.SQLITE_DENY if (action, first) == (sqlite3.SQLITE_READ, "secret") else sqlite3.SQLITE_OK


def messages_of(*calls):
    """Return the messages of the database errors of some calls; None of a call without one."""
    messages = []
    for call in calls:
        try:
            call()
            messages.append(None)
        except sqlite3.DatabaseError as error:
            messages.append(str(error))
    return messages


FACTORIES = {
    "none": lambda: sqlite3.connect("data.db"),
    "by name": lambda: sqlite3.connect("data.db", factory=CountingConnection),
    "the database by name": lambda: sqlite3.connect(database="data.db", factory=CountingConnection),
}
if sys.version_info < (3, 15):
    FACTORIES["by place"] = lambda: sqlite3.connect("data.db", 5.0, 0, None, True, CountingConnection)


@pytest.mark.filterwarnings("ignore:Passing more than 1 positional argument:DeprecationWarning")  # since 3.13
@pytest.mark.parametrize("opened", FACTORIES.values(), ids=FACTORIES)
def test_an_authorizer_of_the_programs_own_stands_beside_ours(opened, project, folder):
    with contextlib.closing(database(folder)) as connection:
        connection.execute("CREATE TABLE secret (x)")
    trace = recorded(project.tool)
    found = []

    def do():
        with contextlib.closing(opened()) as connection:
            found.append(
                (
                    type(connection).__module__,
                    type(connection).__qualname__,
                    isinstance(connection, sqlite3.Connection),
                )
            )
            secret = functools.partial(connection.execute, "SELECT x FROM secret")
            writes = functools.partial(connection.execute, "INSERT INTO t VALUES (2)")
            found.append(messages_of(secret, writes))
            connection.set_authorizer(denies_reading)
            found.append(messages_of(secret, writes))
            connection.set_authorizer(None)
            found.append(messages_of(secret, writes))
            found.append(getattr(connection, "count", 2))

    replay, error = replayed(trace, project.tool, do, "files")
    own = opened is not FACTORIES["none"]
    assert (error, found) == (
        None,
        [
            (__name__, "CountingConnection", True) if own else ("sqlite3", "Connection", True),
            [None, "not authorized"],
            ["access to secret.x is prohibited", "not authorized"],
            [None, "not authorized"],
            2,
        ],
    )
    assert len(denials(replay)) == 1


def test_a_connection_from_before_gets_its_authorizer_back(tmp_path):
    path = tmp_path / "data.db"
    connection = database(tmp_path)
    connection.execute("CREATE TABLE secret (x)")
    connection.set_trace_callback(lambda _: None)
    connection.set_authorizer(denies_reading)
    connection.row_factory = lambda _, row: {"row": row}
    connection.text_factory = bytes
    refused = []
    secret = functools.partial(connection.execute, "SELECT x FROM secret")
    writes = functools.partial(connection.execute, "INSERT INTO t VALUES (2)")
    undo = guard_open({str(path)}, lambda refused_path: refused.append(refused_path) or True)
    during = messages_of(secret, writes)
    undo()
    assert (during, refused) == (["access to secret.x is prohibited", "not authorized"], [str(path)])
    assert messages_of(secret, writes) == ["access to secret.x is prohibited", None]
    assert (connection.text_factory, connection.execute("SELECT 1").fetchone()) == (bytes, {"row": (1,)})
    connection.close()


def test_a_connection_that_could_lose_its_guard_is_not_opened_for_writing(project, folder):
    database(folder).close()

    def do():
        return sqlite3.connect("data.db", factory=lambda *args, **_: sqlite3.Connection(*args))

    replay, error = replayed(recorded(project.tool), project.tool, do, "files")
    assert type(error) is DeniedError
    (message,) = denials(replay)
    assert message.startswith("tool[1] opens the database data.db for writing ")


def test_python_may_write_its_bytecode(project, folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (folder / "fresh_module.py").write_text("value = 1\n")

    def do():
        return importlib.import_module("fresh_module").value

    replay, error = replayed(recorded(project.tool), project.tool, do, "files")
    del sys.modules["fresh_module"]
    assert (error, denials(replay), replay["tool[1]"].result) == (None, [], 1)
    assert list((folder / "__pycache__").glob("fresh_module*"))


def test_a_module_that_writes_a_file_at_import_is_refused(project, folder):
    (folder / "writing_module.py").write_text("open('out.txt', 'w')\n")

    def do():
        importlib.import_module("writing_module")

    replay, error = replayed(recorded(project.tool), project.tool, do, "files")
    assert type(error) is DeniedError
    assert "opens out.txt for writing at writing_module.py:1" in denials(replay)[0]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
def test_the_patches_that_watch_files_are_removed(elsewhere, project, folder):
    originals = (os.mkfifo, os.mknod, sqlite3.connect, sqlite3.dbapi2.connect)
    trace = recorded(project.tool)
    (folder / "agent.py").write_text(f"import {project.__name__} as m\nm.tool(print)\n")
    with autochron.replay(trace, rules="autochron.toml", live="kind:tool", deny="files") as replay:
        assert sqlite3.connect is not originals[2]
        if elsewhere:
            replay.run("agent.py")
        else:
            project.tool(nothing)
        assert replay["tool[1]"].live
    assert (os.mkfifo, os.mknod, sqlite3.connect, sqlite3.dbapi2.connect) == originals


def test_a_replay_in_another_process_denies_as_well(project, folder):
    (folder / "agent.py").write_text(
        f"import os, {project.__name__} as m\nprint(m.swallows(lambda: os.mkdir('made')))\n"
    )
    trace = recorded(project.swallows)
    with autochron.replay(
        trace, rules="autochron.toml", live="kind:tool", deny="files", check=False
    ) as replay:
        rerun = replay.run("agent.py")
    assert rerun.stdout == "tried: DeniedError\n"
    (message,) = denials(replay)
    assert message.startswith("swallows[1] makes the folder made at agent.py:2, ")


# --- not live ------------------------------------------------------------------------------------------------------------


def test_outside_live_crossings_files_and_processes_are_allowed(project):
    def call(do):
        project.tool(do)
        write()
        start()

    replay, error = replayed(recorded(call), call, nothing, ["files", "subprocess", "network"])
    assert (error, denials(replay), os.path.exists("out.txt")) == (None, [], True)


@pytest.mark.parametrize("do", [connect, in_uvloop(to_loopback)], ids=["socket", "uvloop"])
@pytest.mark.parametrize("deny", [(), "network"], ids=["nothing", "network"])
def test_a_connection_outside_every_crossing_is_always_refused(deny, do, project):
    def call(do):
        project.tool(nothing)
        do()

    replay, error = replayed(recorded(call), call, do, deny)
    assert type(error) is NetworkRefusedError
    assert [divergence.kind for divergence in replay.divergences] == ["network"]


def test_a_connection_in_an_opened_crossing_is_refused(project):
    trace = recorded(project.opened)
    replay, error = replayed(trace, project.opened, connect, (), live="tool")
    assert [crossing.replayed.mode for crossing in replay.crossings] == ["opened", "live"]
    assert type(error) is NetworkRefusedError


def test_an_opened_crossing_may_write(project):
    trace = recorded(project.opened)
    replay, error = replayed(trace, project.opened, write, "files", live="tool")
    assert (error, denials(replay)) == (None, [])


def test_a_live_crossing_may_connect_unless_the_network_is_denied(project):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        replay, error = replayed(
            recorded(project.tool),
            project.tool,
            lambda: socket.create_connection(("127.0.0.1", port)).close(),
            ["files", "subprocess"],
        )
    assert (error, denials(replay), replay["tool[1]"].live) == (None, [], True)


def test_a_served_crossing_inside_a_live_one_does_not_run(project):
    trace = recorded(project.outer)
    replay, error = replayed(trace, project.outer, nothing, "files", live="outer")
    assert (error, [crossing.live for crossing in replay.crossings]) == (None, [True, False])


@pytest.mark.parametrize("deny", [(), "network"], ids=["nothing", "network"])
def test_a_thread_that_outlives_a_live_crossing_belongs_to_it(deny, project):
    go, raised = threading.Event(), []

    def late():
        go.wait(10)
        try:
            connect()
        except OSError as error:
            raised.append(type(error))

    def call(do):
        threads = []
        project.outlived(do, threads)
        go.set()
        threads[0].join()

    trace = recorded(call)
    go.clear()
    replay, error = replayed(trace, call, late, deny)
    assert (error, raised) == (None, [DeniedError if deny else ConnectionRefusedError])
    assert len(denials(replay)) == len(deny and [deny])


# --- the network ---------------------------------------------------------------------------------------------------------


def in_unix(path):
    def do():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)

    return do


def send(flags=0):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sends:
        sends.sendto(b"x", ("127.0.0.1", 9))


def send_message():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sends:
        sends.sendmsg([b"x"], [], 0, ("127.0.0.1", 9))


def listen(host, port):
    def do():
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((host, port))

    return do


async def opens():
    await asyncio.open_connection("127.0.0.1", 9)


async def resolves():
    await asyncio.get_running_loop().getaddrinfo("example.invalid", 80)


def http():
    import urllib.request

    urllib.request.urlopen("http://127.0.0.1:9/secret", timeout=5)


def requests_get():
    import requests

    requests.get("http://127.0.0.1:9/secret", timeout=5, proxies={"http": ""})


def httpx_get():
    import httpx

    httpx.get("http://127.0.0.1:9/secret", trust_env=False)


REACHES = {
    "tcp": (connect, "reaches for 127.0.0.1:9"),
    "connect_ex": (lambda: socket.socket().connect_ex(("127.0.0.1", 9)), "reaches for 127.0.0.1:9"),
    "udp": (send, "reaches for 127.0.0.1:9"),
    "sendmsg": (send_message, "reaches for 127.0.0.1:9"),
    "unix": (in_unix("unix.sock"), "reaches for unix.sock"),
    "getaddrinfo": (lambda: socket.getaddrinfo("example.invalid", 443), "reaches for example.invalid:443"),
    "gethostbyname": (lambda: socket.gethostbyname("example.invalid"), "reaches for example.invalid"),
    "gethostbyname_ex": (lambda: socket.gethostbyname_ex("example.invalid"), "reaches for example.invalid"),
    "gethostbyaddr": (lambda: socket.gethostbyaddr("127.0.0.1"), "reaches for 127.0.0.1"),
    "getnameinfo": (lambda: socket.getnameinfo(("127.0.0.1", 9), 0), "reaches for 127.0.0.1:9"),
    "server": (listen("", 45871), "listens at 0.0.0.0:45871"),
    "asyncio": (lambda: asyncio.run(opens()), "reaches for 127.0.0.1:9"),
    "asyncio look-up": (lambda: asyncio.run(resolves()), "reaches for example.invalid:80"),
    "uvloop": (in_uvloop(to_loopback), "reaches for 127.0.0.1:9"),
    "uvloop look-up": (
        in_uvloop(lambda loop: loop.getaddrinfo("example.invalid", 80)),
        "reaches for example.invalid:80",
    ),
    "uvloop name": (in_uvloop(lambda loop: loop.getnameinfo(("127.0.0.1", 9))), "reaches for 127.0.0.1:9"),
    "uvloop unix": (
        in_uvloop(lambda loop: loop.create_unix_connection(asyncio.Protocol, "unix.sock")),
        "reaches for unix.sock",
    ),
    "uvloop datagrams": (
        in_uvloop(
            lambda loop: loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=("127.0.0.1", 9))
        ),
        "reaches for 127.0.0.1:9",
    ),
    "urllib": (http, "reaches for 127.0.0.1:9"),
    "requests": (requests_get, "reaches for 127.0.0.1:9"),
    "httpx": (httpx_get, "reaches for 127.0.0.1:9"),
}


@pytest.mark.parametrize(
    ("reach", "says"),
    [
        pytest.param(*case, id=name, marks=pytest.mark.sdks if name == "httpx" else ())
        for name, case in REACHES.items()
    ],
)
def test_every_way_to_the_network_is_refused(reach, says, project):
    replay, error = replayed(recorded(project.tool), project.tool, reach, "network")
    assert isinstance(error, Exception)
    (message,) = denials(replay)
    assert message.startswith(f"tool[1] {says} ")
    assert "secret" not in message


def free_port():
    """Return a port that nobody listens on. A fixed number could be in use by a client of another test."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize(
    ("host", "is_any"), [("127.0.0.1", True), ("127.0.0.1", False), ("", True), ("localhost", False)]
)
def test_a_server_that_only_this_machine_can_reach_may_listen(host, is_any, project):
    port = 0 if is_any else free_port()
    replay, error = replayed(recorded(project.tool), project.tool, listen(host, port), "network")
    assert (error, denials(replay)) == (None, [])


def test_an_asyncio_server_on_the_loopback_address_may_listen(project):
    async def serve():
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        server.close()
        await server.wait_closed()

    replay, error = replayed(recorded(project.tool), project.tool, lambda: asyncio.run(serve()), "network")
    assert (error, denials(replay)) == (None, [])


# --- processes -----------------------------------------------------------------------------------------------------------


def pty_spawn():
    import pty

    pty.spawn(["true"])


def process():
    import multiprocessing

    multiprocessing.get_context("spawn").Process(target=print).start()


def process_pool():
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1) as pool:
        pool.submit(os.getpid).result()


STARTS = {
    "popen": (lambda: os.popen("cat /etc/secret").read(), "starts a child process of sh"),
    "system": (lambda: os.system("TOKEN=secret cat secret"), "starts a child process of cat"),
    "fork": (lambda: os.fork() or os._exit(0), "starts a forked child process"),
    "forkpty": (lambda: os.forkpty()[0] or os._exit(0), "starts a forked child process"),
    "posix_spawn": (lambda: os.posix_spawn("/bin/true", ["true"], {}), "starts a child process of true"),
    "spawnv": (lambda: os.spawnv(os.P_WAIT, "/bin/true", ["true"]), "starts a forked child process"),
    "exec": (lambda: os.execv("/bin/true", ["true", "secret"]), "is replaced by true"),
    "execvp": (lambda: os.execvp("true", ["true", "secret"]), "is replaced by true"),
    "pty": (pty_spawn, "starts a child process of true"),
    "multiprocessing": (process, "starts a child process of multiprocessing (spawn)"),
    "process pool": (process_pool, "starts a child process of multiprocessing"),
    "uvloop": (
        in_uvloop(lambda loop: asyncio.create_subprocess_exec("true", "secret")),
        "starts a child process of true",
    ),
    "uvloop shell": (
        in_uvloop(lambda loop: asyncio.create_subprocess_shell("true secret")),
        "starts a child process of sh",
    ),
    "asyncio": (
        lambda: asyncio.run(asyncio.create_subprocess_exec("true", "secret")),
        "starts a child process of true",
    ),
}


@pytest.mark.parametrize(("starting", "says"), STARTS.values(), ids=STARTS)
def test_every_way_to_start_a_process_is_refused(starting, says, project):
    replay, error = replayed(recorded(project.tool), project.tool, starting, "subprocess")
    assert type(error) is DeniedError
    (message,) = denials(replay)
    assert message.startswith(f"tool[1] {says} ")
    assert "secret" not in message


def test_a_command_that_only_asks_about_the_machine_is_allowed(project):
    replay, error = replayed(
        recorded(project.tool), project.tool, lambda: subprocess.run(["uname"], check=True), "subprocess"
    )
    assert (error, denials(replay)) == (None, [])


def test_a_process_that_is_not_watched_is_reported(project):
    replay, error = replayed(recorded(project.tool), project.tool, start, ["files", "network"])
    assert (error, denials(replay)) == (None, [])
    (notice,) = [divergence for divergence in replay.divergences if divergence.kind == "child"]
    assert (notice.severity, notice.address) == ("notice", "tool[1]")
    assert notice.message.startswith("tool[1] starts a child process of true at ")
    assert "what is denied (files and network)" in notice.message
    replay.verify()


# --- words to deny --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deny", "message"),
    [
        (
            "netwrk",
            "what can be denied is network, subprocess, files; 'netwrk' is none of them; did you mean network?",
        ),
        (["files", "process"], "'process' is none of them; did you mean subprocess?"),
        ("sky", "'sky' is none of them$"),
        ("", "it is empty"),
        (["network", ""], "it is empty"),
        ("network,", "it is empty"),
    ],
)
def test_an_unknown_word_to_deny_is_refused(deny, message, project):
    trace = recorded(project.tool)
    with pytest.raises(PlanError) as caught, autochron.replay(trace, rules="autochron.toml", deny=deny):
        pass
    assert caught.match(message) if "$" not in message else caught.value.message.endswith(message[:-1])


def test_words_to_deny_may_be_joined_in_one_string(project):
    _, error = replayed(recorded(project.tool), project.tool, write, "network, files")
    assert type(error) is DeniedError
