"""Changes of files within a replay are made on a scratch copy, and look to the program as if they were made in place."""

import dbm
import errno
import fileinput
import glob
import gzip
import hashlib
import io
import json
import os
import pathlib
import shelve
import shutil
import sqlite3
import sys
import tempfile
import zipfile
from os import stat as early_stat
from typing import ClassVar

import pytest

from autochron.effects import redirect
from autochron.effects.changes import ScratchWatch
from autochron.effects.open_handles import OpenHandles
from autochron.effects.scratch import Before, Scratch
from autochron.isolation.sqlite import guard_open
from tests.cli.processes import python

early_open = open


def digests(folder):
    """Return the digests of the files in a folder, and the folders in it, by path."""
    contents = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        contents[str(path.relative_to(folder))] = (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        )
    return contents


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Enter a project with some state, within a replay in which everything is live; yield the scratch copy."""
    project = tmp_path / "project"
    (project / "out").mkdir(parents=True)
    (project / "out" / "1.txt").write_text("one")
    (project / "log.txt").write_text("hello\n")
    (project / "a.json").write_text('{"a": 1}')
    with sqlite3.connect(project / "pay.db") as connection:
        connection.execute("create table paid (id integer primary key, cents int)")
        connection.execute("insert into paid values (1, 40)")
    connection.close()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "shared.txt").write_text("shared")
    (project / "link.txt").symlink_to(tmp_path / "elsewhere" / "shared.txt")
    monkeypatch.chdir(project)
    before = digests(tmp_path)
    scratch = Scratch()
    touched = []
    in_force = redirect.Redirection(
        scratch, lambda: True, everywhere=False, on_touch=lambda *touch, **_: touched.append(touch)
    )
    redirect.put_in_force(in_force)
    yield scratch
    redirect.put_in_force(None)
    scratch.discard()
    assert digests(tmp_path) == before
    assert not os.path.exists(scratch.folder)


def appended():
    with open("log.txt", "a") as file:
        file.write("more\n")
    return pathlib.Path("log.txt").read_text()


def low_level():
    descriptor = os.open("log.txt", os.O_RDWR)
    os.pwrite(descriptor, b"HE", 0)
    os.close(descriptor)
    with early_open("log.txt") as file:
        return file.read()


def replaced():
    with open("a.json.tmp", "w") as file:
        json.dump({"a": 2}, file)
    os.replace("a.json.tmp", "a.json")
    return json.loads(pathlib.Path("a.json").read_bytes()), os.path.exists("a.json.tmp")


def temporary_then_replaced():
    with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as file:
        file.write("{}")
    os.replace(file.name, "a.json")
    return pathlib.Path("a.json").read_text(), sorted(os.listdir("."))


def removed():
    os.remove("out/1.txt")
    pathlib.Path("out/2.txt").write_text("2")
    return (
        os.listdir("out"),
        glob.glob("out/*"),
        [entry.name for entry in os.scandir("out")],
        os.path.exists("out/1.txt"),
    )


def whole_folder():
    shutil.rmtree("out")
    gone = os.path.isdir("out")
    os.makedirs("out/deep")
    return gone, os.listdir("out"), os.path.isdir("out/deep")


def moved():
    shutil.move("out", "sent")
    return sorted(str(path) for path in pathlib.Path(".").rglob("*.txt"))


def copied():
    shutil.copy("log.txt", "copy.txt")
    shutil.copytree("out", "backup")
    return pathlib.Path("copy.txt").read_text(), os.listdir("backup")


def database():
    connection = sqlite3.connect("pay.db")
    connection.execute("insert into paid (cents) values (50)")
    connection.commit()
    connection.close()
    second = sqlite3.connect("file:pay.db?mode=ro", uri=True)
    rows = second.execute("select id, cents from paid").fetchall()
    second.close()
    return rows


def new_database():
    with sqlite3.connect(pathlib.Path("new.db")) as connection:
        connection.execute("create table t (x)")
    connection.close()
    return os.path.exists("new.db"), os.listdir(b".").count(b"new.db")


def shelf():
    with shelve.open("shelf") as stored:
        stored["a"] = [1]
    with shelve.open("shelf") as stored:
        return stored["a"], dbm.whichdb("shelf") is not None


def archives():
    with gzip.open("z.gz", "wt") as file:
        file.write("zipped")
    with zipfile.ZipFile("z.zip", "w") as archive:
        archive.write("log.txt")
    with gzip.open("z.gz", "rt") as file, zipfile.ZipFile("z.zip") as archive:
        return file.read(), archive.namelist()


def facts():
    os.chmod("log.txt", 0o600)
    os.truncate("log.txt", 2)
    os.utime("log.txt", (1, 1))
    status = early_stat("log.txt")
    return oct(status.st_mode & 0o777), status.st_mtime, status.st_size


def exclusive():
    pathlib.Path("new.txt").open("x").close()
    try:
        open("new.txt", "x")
    except FileExistsError as error:
        return error.filename


def missing():
    errors = []
    for call in (
        lambda: open("no/such.txt", "w"),
        lambda: open("nothing.txt"),
        lambda: os.remove("nothing.txt"),
        lambda: os.rmdir("out"),
        lambda: os.mkdir("out"),
        lambda: os.rename("nothing.txt", "x.txt"),
        lambda: os.open("nothing.txt", os.O_WRONLY),
        lambda: os.listdir("nothing"),
    ):
        try:
            call()
        except OSError as error:
            errors.append((type(error).__name__, error.errno, error.filename))
    return errors


def in_place():
    with fileinput.input("log.txt", inplace=True) as lines:
        for line in lines:
            print(line.upper(), end="")
    return pathlib.Path("log.txt").read_text()


def through_a_link():
    pathlib.Path("link.txt").write_text("changed")
    return pathlib.Path("link.txt").read_text(), os.path.islink("link.txt")


def links():
    os.symlink("log.txt", "soft.txt")
    os.link("log.txt", "hard.txt")
    return pathlib.Path("soft.txt").read_text(), pathlib.Path("hard.txt").read_text(), os.readlink("soft.txt")


def link_that_goes():
    os.unlink("link.txt")
    return os.path.lexists("link.txt"), sorted(os.listdir("."))


def link_that_moves():
    os.rename("link.txt", "out/link.txt")
    pathlib.Path("out/link.txt").write_text("through it")
    return (
        os.path.islink("out/link.txt"),
        os.path.lexists("link.txt"),
        pathlib.Path("out/link.txt").read_text(),
    )


def link_that_is_replaced():
    os.replace("log.txt", "link.txt")
    return os.path.islink("link.txt"), pathlib.Path("link.txt").read_text()


def link_to_a_folder():
    os.symlink("out", "current")
    results = [pathlib.Path("current/1.txt").read_text(), os.listdir("current")]
    os.makedirs("next")
    pathlib.Path("next/1.txt").write_text("of the next")
    os.symlink("next", "current.new")
    os.replace("current.new", "current")
    results += [pathlib.Path("current/1.txt").read_text(), os.path.realpath("current").endswith("next")]
    with open("current/2.txt", "w") as file:
        file.write("2")
    results += [sorted(os.listdir("next")), sorted(os.listdir("out")), os.readlink("current")]
    os.remove("current")
    return [*results, os.path.exists("current/1.txt"), os.path.exists("next/1.txt")]


def by_descriptor_of_a_folder():
    folder = os.open("out", os.O_RDONLY)
    try:
        os.unlink("1.txt", dir_fd=folder)
        descriptor = os.open("3.txt", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
        os.close(descriptor)
        return os.listdir(folder), os.listdir("out")
    finally:
        os.close(folder)


def bytes_and_spaces():
    with open(b"a file \xc3\xa9.txt", "wb") as file:
        file.write(b"x")
    return pathlib.Path("a file é.txt").read_bytes(), os.path.getsize(b"a file \xc3\xa9.txt")


def elsewhere():
    os.chdir("out")
    try:
        pathlib.Path("../log.txt").write_text("from below")
        return pathlib.Path("../log.txt").read_text(), os.path.exists("1.txt")
    finally:
        os.chdir("..")


def walked():
    os.makedirs("out/x/y")
    pathlib.Path("out/x/y/z.txt").touch()
    return [(folder, sorted(folders), sorted(names)) for folder, folders, names in os.walk("out")]


def names():
    with open("log.txt", "a") as text, open("log.txt", "rb") as raw:
        return text.name, raw.name, io.open is open


ACTIONS = {
    appended: "hello\nmore\n",
    low_level: "HEllo\n",
    replaced: ({"a": 2}, False),
    temporary_then_replaced: ("{}", ["a.json", "link.txt", "log.txt", "out", "pay.db"]),
    removed: (["2.txt"], ["out/2.txt"], ["2.txt"], False),
    whole_folder: (False, ["deep"], True),
    moved: ["link.txt", "log.txt", "sent/1.txt"],
    copied: ("hello\n", ["1.txt"]),
    database: [(1, 40), (2, 50)],
    new_database: (True, 1),
    shelf: ([1], True),
    archives: ("zipped", ["log.txt"]),
    facts: ("0o600", 1.0, 2),
    exclusive: "new.txt",
    missing: [
        ("FileNotFoundError", 2, "no/such.txt"),
        ("FileNotFoundError", 2, "nothing.txt"),
        ("FileNotFoundError", 2, "nothing.txt"),
        ("OSError", 39, "out"),
        ("FileExistsError", 17, "out"),
        ("FileNotFoundError", 2, "nothing.txt"),
        ("FileNotFoundError", 2, "nothing.txt"),
        ("FileNotFoundError", 2, "nothing"),
    ],
    in_place: "HELLO\n",
    through_a_link: ("changed", True),
    links: ("hello\n", "hello\n", "log.txt"),
    link_that_goes: (False, ["a.json", "log.txt", "out", "pay.db"]),
    link_that_moves: (True, False, "through it"),
    link_that_is_replaced: (False, "hello\n"),
    link_to_a_folder: [
        *("one", ["1.txt"], "of the next", True, ["1.txt", "2.txt"], ["1.txt"], "next"),
        *(False, True),
    ],
    by_descriptor_of_a_folder: (["3.txt"], ["3.txt"]),
    bytes_and_spaces: (b"x", 1),
    elsewhere: ("from below", True),
    walked: [("out", ["x"], ["1.txt"]), ("out/x", ["y"], []), ("out/x/y", [], ["z.txt"])],
    names: ("log.txt", "log.txt", True),
}


@pytest.mark.parametrize("act", ACTIONS, ids=lambda act: act.__name__)
def test_a_program_sees_its_changes_and_no_real_file_is_changed(world, act):
    assert act() == ACTIONS[act]


@pytest.mark.parametrize("act", ACTIONS, ids=lambda act: act.__name__)
def test_the_actions_have_the_same_results_without_a_replay(tmp_path, monkeypatch, act):
    """This checks the expected results of the actions above against real files."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "1.txt").write_text("one")
    (tmp_path / "log.txt").write_text("hello\n")
    (tmp_path / "a.json").write_text('{"a": 1}')
    (tmp_path.parent / f"{tmp_path.name}-shared.txt").write_text("shared")
    (tmp_path / "link.txt").symlink_to(tmp_path.parent / f"{tmp_path.name}-shared.txt")
    with sqlite3.connect(tmp_path / "pay.db") as connection:
        connection.execute("create table paid (id integer primary key, cents int)")
        connection.execute("insert into paid values (1, 40)")
    connection.close()
    monkeypatch.chdir(tmp_path)
    assert act() == ACTIONS[act]


def test_files_have_their_content_from_before_the_recorded_run(tmp_path):
    (tmp_path / "kept").write_text("then")
    (tmp_path / "now.txt").write_text("today")
    (tmp_path / "later.txt").write_text("made since")
    (tmp_path / "folder").mkdir()
    for name in ("old", "new"):
        (tmp_path / "folder" / name).touch()
    scratch = Scratch(
        {
            str(tmp_path / "now.txt"): Before("file", str(tmp_path / "kept")),
            str(tmp_path / "gone" / "deep.txt"): Before("file", str(tmp_path / "kept")),
            str(tmp_path / "later.txt"): Before("absent"),
            str(tmp_path / "folder"): Before("folder", names=frozenset({"old"})),
        }
    )
    redirect.put_in_force(
        redirect.Redirection(scratch, lambda: False, everywhere=False, on_touch=lambda *_, **__: None)
    )
    try:
        seen = (
            (tmp_path / "now.txt").read_text(),
            (tmp_path / "gone" / "deep.txt").read_text(),
            (tmp_path / "later.txt").exists(),
            os.listdir(tmp_path / "folder"),
            sorted(os.listdir(tmp_path)),
        )
    finally:
        redirect.put_in_force(None)
        scratch.discard()
    assert seen == ("then", "then", False, ["old"], ["folder", "gone", "kept", "now.txt"])


def test_files_that_are_changed_outside_live_crossings_are_real(tmp_path):
    scratch = Scratch()
    redirect.put_in_force(
        redirect.Redirection(scratch, lambda: False, everywhere=False, on_touch=lambda *_, **__: None)
    )
    try:
        (tmp_path / "report.txt").write_text("real")
    finally:
        redirect.put_in_force(None)
    assert ((tmp_path / "report.txt").read_text(), os.path.exists(scratch.folder)) == ("real", False)


def test_a_forked_process_continues_with_a_copy_of_the_scratch_files(world):
    pathlib.Path("log.txt").write_text("before the fork")
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        world.fork()
        seen = pathlib.Path("log.txt").read_text()
        pathlib.Path("log.txt").write_text("the fork's")
        os.write(writing, seen.encode())
        os._exit(0)
    os.waitpid(process, 0)
    assert os.read(reading, 100) == b"before the fork"
    world.discard_fork()
    assert pathlib.Path("log.txt").read_text() == "before the fork"
    assert not os.path.exists(f"{world.folder}.fork")
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("name", ["ENOTEMPTY", "ENOENT", "ENOTDIR", "EISDIR"])
def test_an_error_has_the_number_that_this_system_gives_it(world, monkeypatch, name):
    calls = {
        "ENOTEMPTY": [lambda: os.rmdir("out"), lambda: os.rename("folder", "out")],
        "ENOENT": [lambda: os.remove("none"), lambda: os.rename("none", "new")],
        "ENOTDIR": [lambda: os.rmdir("log.txt"), lambda: os.rename("folder", "log.txt")],
        "EISDIR": [lambda: os.remove("out"), lambda: os.rename("log.txt", "out")],
    }[name]
    os.mkdir("folder")
    monkeypatch.setattr(errno, name, 4000)
    raised = []
    for call in calls:
        with pytest.raises(OSError, match="4000") as caught:
            call()
        raised.append((caught.value.errno, caught.value.strerror))
    assert raised == [(4000, os.strerror(4000))] * 2


def test_errors_name_the_paths_that_the_program_gave(world):
    raised = []
    for call in (lambda: os.rmdir("out"), lambda: os.remove("none"), lambda: os.rename("none", "new")):
        with pytest.raises(OSError, match=r"out|none") as caught:
            call()
        raised.append((type(caught.value), caught.value.errno, caught.value.filename, caught.value.filename2))
    assert raised == [
        (OSError, errno.ENOTEMPTY, "out", None),
        (FileNotFoundError, errno.ENOENT, "none", None),
        (FileNotFoundError, errno.ENOENT, "none", "new"),
    ]


class Lazy:
    """A proxy that loads what it stands for when its class is asked for."""

    loaded: ClassVar = []

    @property
    def __class__(self):
        self.loaded.append(self)
        return str


def test_open_files_and_databases_are_found_without_asking_proxies(tmp_path):
    proxy = Lazy()
    path = str(tmp_path / "log.txt")
    database = str(tmp_path / "pay.db")
    scratch = Scratch({path: Before("absent")})
    connection = sqlite3.connect(database)
    connection.execute("create table paid (cents int)")
    with open(path, "w") as file:
        handles = OpenHandles(scratch, [path])
        try:
            file.write("line")
        finally:
            handles.put_back()
            scratch.discard()
    guard_open({database}, lambda _: True)()
    connection.close()
    assert (Lazy.loaded, type(proxy), os.path.getsize(path)) == ([], Lazy, 0)


# --- reported changes -------------------------------------------------------------------------------------------------


def changes_of(act, world):
    watch = ScratchWatch(world, lambda path: os.path.basename(path))
    act()
    changes = [(change.path, change.what, json.loads(change.value)) for change in watch.changes()]
    assert watch.changes() == []
    return changes


def test_effects_are_reported_as_rows_lines_and_members(world):
    def act():
        connection = sqlite3.connect("pay.db")
        connection.execute("insert into paid (cents) values (50)")
        connection.execute("update paid set cents = 41 where id = 1")
        connection.commit()
        connection.close()
        appended()
        pathlib.Path("a.json").write_text('{"a": 2, "b": [1]}')
        pathlib.Path("new.txt").write_text("x\n")
        pathlib.Path("raw.bin").write_bytes(b"\xff\x00")
        os.remove("out/1.txt")

    assert changes_of(act, world) == [
        ("a.json", "changed at a", {"after": 2, "before": 1}),
        ("a.json", "added at b", [1]),
        ("log.txt", "line added", "more"),
        ("new.txt", "file created", ["x"]),
        ("1.txt", "removed", None),
        ("pay.db", "row added to paid", {"cents": 50, "id": 2}),
        (
            "pay.db",
            "row changed in paid",
            {"after": {"cents": 41}, "before": {"cents": 40}, "row": {"id": 1}},
        ),
        ("raw.bin", "file created", {"digest": hashlib.sha256(b"\xff\x00").hexdigest(), "size": 2}),
    ]


def test_an_uncommitted_row_is_no_effect(world):
    connections = []

    def act():
        connections.append(sqlite3.connect("pay.db"))
        connections[0].execute("insert into paid (cents) values (50)")

    assert changes_of(act, world) == []
    connections[0].close()


def test_a_pickle_is_not_loaded(world):
    evil = b"cos\nsystem\n(S'touch owned'\ntR."
    assert changes_of(lambda: pathlib.Path("p.pkl").write_bytes(evil), world)[0][1] == "file created"
    assert not os.path.exists("owned")


@pytest.mark.skipif(sys.platform == "win32", reason="links to devices are POSIX")
def test_devices_and_pipes_are_not_redirected(world):
    with open("/dev/null", "w") as file:
        file.write("x")
    reading, writing = os.pipe()
    with open(writing, "w") as file:
        file.write("y")
    assert (os.read(reading, 1), world.written) == (b"y", {})
    os.close(reading)


KILLED = """
import os, signal, sys
from autochron.effects.scratch import Scratch
from autochron.workers.fork import forked
from autochron.workers.limits import Limits

def work(tell):
    with open(Scratch().to_write(os.path.abspath("x.txt")), "w") as file:
        file.write("x")
    tell(",".join(os.listdir(os.environ["TMPDIR"])).encode())
    os.kill(os.getpid(), signal.SIGKILL)

ended = forked(work, Limits(10, 1 << 30))
print(ended.signal, ended.output.decode().partition("-")[0], os.listdir(os.environ["TMPDIR"]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX")
def test_a_trial_that_is_killed_leaves_no_scratch_folder(tmp_path):
    (tmp_path / "tmp").mkdir()
    done = python(tmp_path, "-c", KILLED, env={"TMPDIR": str(tmp_path / "tmp")})
    assert done.text == "9 autochron []\n", done.said
