"""Forty ways to run a tool that no rule matches: a run reports each effect with its line, and a replay repeats none."""

import os
import re
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from autochron.effects.outside import OutsideEffects
from autochron.isolation.background import keeps_books
from autochron.store import open_store
from tests.cli.processes import Result, autochron

RULES = """version = 1
packs = []

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"
"""
TOOLS = """
import sqlite3, subprocess, os, shutil, pathlib

def look_up(item):
    return {"item": item}
"""
MAIN = """
import tools
tools.look_up("mug")
"""
FILE = 'with open("sent.txt", "a") as file: file.write("sent")  # HERE'
"""The effect of a tool."""


def function(name="send", indent=""):
    """Return the source of a function with this effect."""
    return f"{indent}def {name}(*_):\n{indent}    {FILE}\n"


WAYS = {
    # --- functions that a glob skips, or that are created in a way that it does not see
    "private": (function("_send"), "tools._send()"),
    "dunder": (function("__send__"), "tools.__send__()"),
    "nested": (
        "def make():\n"
        + function(indent="    ")
        + "    return send\nsend = make.__wrapped__() if False else None\n",
        "",
    ),
    "in the program": ("", f"{function()}\nsend()"),
    "at the top level of the program": ("", FILE),
    "at the top level of a module": ("", "import more"),
    "a lambda": ("_send = lambda: open('sent.txt', 'a').write('sent')  # HERE\n", "tools._send()"),
    "made by a factory": (
        "class _Tools:\n    pass\ndef _make():\n" + function(indent="    ") + "    return send\n",
        "tools._make()()",
    ),
    "a decorator without wraps": (
        (
            f"def _logged(inner):\n    def around(*given):\n        {FILE}\n        return inner(*given)\n    return around\n"
            "def look(item):\n    return item\n"
        ),
        "tools._logged(tools.look_up)('mug')",
    ),
    "a subclass in another module": (
        "class Tool:\n    def run(self):\n        return 1\n",
        "import more_tools\nmore_tools.Own().run()",
    ),
    "patched in": ("", f"{function('stand_in')}\ntools.look_up = stand_in\ntools.look_up('mug')"),
    "made by exec": (
        "",
        "scope = {}\nexec(compile(open('source.txt').read(), 'source.py', 'exec'), scope)\nscope['send']()",
    ),
    "copied by importlib": (
        "def _send():\n    return None\n",
        (
            "import importlib.util\n"
            "spec = importlib.util.spec_from_file_location('copy', 'more_tools.py')\n"
            "copy = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(copy)\ncopy.send()"
        ),
    ),
    "a partial": (function("_send"), "import functools\nfunctools.partial(tools._send, 1)()"),
    "mapped": (function("_send"), "list(map(tools._send, [1]))"),
    "called by a library": (function("_send"), "sorted([1, 2], key=lambda each: (tools._send(), each)[1])"),
    "a static method": ("class Box:\n    @staticmethod\n" + function("_send", "    "), "tools.Box._send()"),
    "a class method": ("class Box:\n    @classmethod\n" + function("_send", "    "), "tools.Box._send()"),
    "a property": ("class Box:\n    @property\n" + function("_sent", "    "), "tools.Box()._sent"),
    "called as an object": ("class Box:\n" + function("__call__", "    "), "tools.Box()()"),
    "made": ("class Box:\n" + function("__init__", "    "), "tools.Box()"),
    "let go": ("class Box:\n" + function("__del__", "    "), "box = tools.Box()\ndel box"),
    "entered": (
        "class Box:\n"
        + function("__enter__", "    ")
        + "    def __exit__(self, *error):\n        return None\n",
        "with tools.Box():\n    pass",
    ),
    "indexed": ("class Box:\n" + function("__getitem__", "    "), "tools.Box()[1]"),
    "a descriptor": (
        "class _Field:\n" + function("__get__", "    ") + "class Box:\n    field = _Field()\n",
        "tools.Box().field",
    ),
    "a metaclass": (
        "class _Meta(type):\n    def __new__(cls, *given):\n        "
        + FILE
        + "\n        return super().__new__(cls, *given)\n",
        "class Own(metaclass=tools._Meta):\n    pass",
    ),
    "a subclass is made": (
        "class Box:\n    def __init_subclass__(cls):\n        " + FILE + "\n",
        "class Own(tools.Box):\n    pass",
    ),
    "in a thread": (
        function("_send"),
        "import threading\nthread = threading.Thread(target=tools._send)\nthread.start()\nthread.join()",
    ),
    "in a pool": (
        function("_send"),
        (
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(1) as pool:\n    pool.submit(tools._send).result()"
        ),
    ),
    "in a coroutine": (f"async def _send():\n    {FILE}\n", "import asyncio\nasyncio.run(tools._send())"),
    "in a callback of a loop": (
        function("_send"),
        (
            "import asyncio\nasync def main():\n    asyncio.get_running_loop().call_soon(tools._send)\n"
            "    await asyncio.sleep(0)\n"
            "asyncio.run(main())"
        ),
    ),
    "in a generator": (f"def _send():\n    {FILE}\n    yield 1\n", "list(tools._send())"),
    "at the end": (function("_send"), "import atexit\natexit.register(tools._send)"),
    "by a finalizer": (
        function("_send"),
        "import weakref\nbox = type('Box', (), {})()\nweakref.finalize(box, tools._send)\ndel box",
    ),
    "by a signal": (
        function("_send"),
        "import os, signal\nsignal.signal(signal.SIGUSR1, tools._send)\nos.kill(os.getpid(), signal.SIGUSR1)",
    ),
    "by a hook of imports": ("", "import sys\nsys.modules.pop('more', None)\n__import__('more')"),
    # --- effects other than by `open`
    "by os.open": ("", "import os\nos.close(os.open('sent.txt', os.O_CREAT | os.O_WRONLY))  # HERE"),
    "by pathlib": ("", "import pathlib\npathlib.Path('sent.txt').write_text('sent')  # HERE"),
    "by shutil": ("", "import shutil\nshutil.copy('source.txt', 'sent.txt')  # HERE"),
    "a removal": ("", "import os\nos.remove('old.txt')  # HERE"),
    "a renaming": ("", "import os\nos.rename('old.txt', 'sent.txt')  # HERE"),
    "a folder": ("", "import os\nos.mkdir('sent.txt')  # HERE"),
    "a link": ("", "import os\nos.symlink('old.txt', 'sent.txt')  # HERE"),
    "a database": (
        "",
        (
            "import sqlite3\ndb = sqlite3.connect('pay.db')  # HERE\n"
            "db.execute('create table paid (cents)')\ndb.commit()\ndb.close()"
        ),
    ),
}
OTHER_FILES = {
    "more.py": FILE + "\n",
    "more_tools.py": (
        f"import tools\n{function()}\nclass Own(tools.Tool if hasattr(tools, 'Tool') else object):\n"
        f"{function('run', '    ')}"
    ),
    "source.txt": function(),
    "old.txt": "old",
}
del WAYS["nested"]


_GROUP = 5
"""So many ways one program tries: fewer than the effects that a run's report lists."""

_OWN_NAMES = re.compile(r"\b(more_tools|more|old|pay|sent|source|tools)\b")
"""The names of a way's modules and files."""


class Tried(NamedTuple):
    """A program that tries several ways, and its replay.

    Attributes:
        places: by way, the places of the lines that have to be reported.
        effects: the effects in the trace of the run.
        ran: the result of the run.
        replayed: the result of the replay.
        before: the state of each file before the replay.
        after: the state of each file after it.
    """

    places: dict
    effects: tuple
    ran: Result
    replayed: Result
    before: dict
    after: dict


def lay_out(folder, ways):
    """Write a program with modules and files for each way, and return by way the places that have to be reported."""
    rules, main, places = RULES.partition("[[boundary]]")[0], "", {}
    for way in ways:
        places[way] = set()
        for name, text in {**OTHER_FILES, "tools.py": TOOLS + WAYS[way][0]}.items():
            (folder / own(way, name)).write_text(own(way, text))
            places[way] |= marked(own(way, name), own(way, text), 1)
        rules += own(way, RULES[RULES.index("[[boundary]]") :]) + "\n"
        part = own(way, MAIN + WAYS[way][1] + "\n")
        places[way] |= marked("agent.py", part, main.count("\n") + 1)
        main += part
    (folder / "autochron.toml").write_text(rules)
    (folder / "agent.py").write_text(main)
    return places


def own(way, text):
    """Return a text with the names of one way's modules and files."""
    return _OWN_NAMES.sub(rf"\1_{list(WAYS).index(way)}", text)


def marked(name, text, first):
    """Return the places of the marked lines of a file, whose first line has the number `first`."""
    lines = enumerate(text.splitlines(), first)
    return {f"{name}:{at}".replace(".txt:", ".py:") for at, line in lines if "# HERE" in line}


def state_of(folder):
    """Return the content, time and inode of each entry of the folder, except for our own and caches."""
    state = {}
    for entry in sorted(folder.iterdir()):
        if entry.name not in (".autochron", "__pycache__"):
            facts = os.lstat(entry)
            content = (
                os.readlink(entry)
                if entry.is_symlink()
                else entry.read_bytes()
                if entry.is_file()
                else b"folder"
            )
            state[entry.name] = (content, facts.st_mtime_ns, facts.st_ino)
    return state


@pytest.fixture(scope="module")
def try_way(tmp_path_factory):
    """Return a function that returns the program that tries a way; a few ways, which come one after another, share one."""
    tried = {}

    def program_of(way):
        group = list(WAYS).index(way) // _GROUP
        if group not in tried:
            ways = list(WAYS)[group * _GROUP :][:_GROUP]
            tried[group] = record_and_replay_ways(tmp_path_factory.mktemp("ways"), ways)
        return tried[group]

    return program_of


def record_and_replay_ways(folder, ways):
    """Record a program that tries several ways, restore the files that it removes, and replay it."""
    places = lay_out(folder, ways)
    ran = autochron(folder, "run", "agent.py")
    assert ran.status == 0, ran.said
    effects = open_store(str(folder / ".autochron" / "traces.db")).load("last").footer.effects
    for way in ways:
        for name, text in OTHER_FILES.items():
            if not (folder / own(way, name)).exists():
                (folder / own(way, name)).write_text(own(way, text))
    before = state_of(folder)
    time.sleep(0.02)
    replayed = autochron(folder, "replay", "last")
    return Tried(places, effects, ran, replayed, before, state_of(folder))


@pytest.mark.parametrize("way", WAYS)
def test_an_effect_outside_every_boundary_is_reported_and_not_repeated(try_way, way):
    program = try_way(way)
    names = {own(way, name) for name in (*OTHER_FILES, "sent.txt", "pay.db")}
    sites = {effect.site for effect in program.effects if effect.what in names}
    assert sites, program.ran.said
    assert sites <= program.places[way], (sites, program.places)
    assert all(f"effect outside every boundary: {site} " in program.ran.said for site in sites)
    assert {effect.site for effect in program.effects} <= set().union(*program.places.values())
    assert program.after == program.before
    assert program.replayed.status == 0, program.replayed.said
    changed = f", {len(program.places)} changed files outside every boundary on a scratch copy"
    assert changed in program.replayed.said, "one of each way"


# --- effects that differ from the recorded run ------------------------------------------------------------------------

SAVING = """
import os, sqlite3, tools
tools.look_up("mug")
what = os.environ.get("WHAT", "")
if what != "none":
    with open("report.txt", "w") as file:
        file.write({"other": "other"}.get(what, "report") + {"time": " at 12:00:02"}.get(what, " at 12:00:01"))
if what == "more":
    open("more.txt", "w").close()
db = sqlite3.connect("pay.db")
if what != "no row":
    db.execute("create table paid (cents)")
    db.execute("insert into paid values (?)", (2 if what == "row" else 1,))
    db.commit()
db.close()
if what != "kept":
    os.remove("old.txt")
"""
DIVERGENCES = {
    "other": "the content of report.txt differs from the recorded run; it is written at agent.py:",
    "none": "agent.py:6 no longer writes report.txt",
    "more": "agent.py:9 writes more.txt, which it did not when it was recorded",
    "row": "the content of pay.db differs from the recorded run",
    "no row": "pay.db",
    "kept": "the content of old.txt differs from the recorded run",
}


def record_saving(folder):
    """Record a program that changes files outside every boundary."""
    (folder / "autochron.toml").write_text(RULES)
    (folder / "tools.py").write_text(TOOLS)
    (folder / "agent.py").write_text(SAVING)
    (folder / "old.txt").write_text("old")
    ran = autochron(folder, "run", "agent.py")
    assert ran.status == 0, ran.said


@pytest.fixture(scope="module")
def saving(tmp_path_factory):
    """Record the program once, and check that its replay does the same. Replays change none of its files."""
    folder = tmp_path_factory.mktemp("saving")
    record_saving(folder)
    assert autochron(folder, "replay", "last").status == 0
    return folder


@pytest.mark.parametrize("change", DIVERGENCES)
def test_a_different_effect_is_a_divergence(saving, change):
    replayed = autochron(saving, "replay", "last", env={"WHAT": change})
    assert replayed.status == 1, replayed.said
    assert DIVERGENCES[change] in replayed.said
    assert "(effect)" in replayed.said


def test_a_different_time_in_a_file_is_reported_and_no_divergence(saving):
    replayed = autochron(saving, "replay", "last", env={"WHAT": "time"})
    assert replayed.status == 0, replayed.said
    assert "report.txt differs from the recorded run only in times" in replayed.said


def test_a_rule_can_allow_different_content(tmp_path):
    record_saving(tmp_path)
    rules = tmp_path / "autochron.toml"
    rules.write_text(f'{rules.read_text()}[[effect]]\npath = "report.txt"\nreason = "a draft"\n')
    replayed = autochron(tmp_path, "replay", "last", env={"WHAT": "other"})
    assert replayed.status == 0, replayed.said
    assert "1 effect let be" in replayed.said


def test_additions_to_a_file_without_its_earlier_content_are_not_compared(tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "agent.py").write_text(f"{MAIN}with open('log.txt', 'a') as file:\n    file.write('more')\n")
    (tmp_path / "log.txt").write_text("before")
    assert autochron(tmp_path, "run", "agent.py").status == 0
    autochron(tmp_path, "traces", "export", "last", "trace.jsonl")
    shutil.rmtree(tmp_path / ".autochron")
    (tmp_path / "log.txt").unlink()
    replayed = autochron(tmp_path, "replay", "trace.jsonl")
    assert replayed.status == 0, replayed.said
    assert (
        "the content of log.txt is not compared: its content before the recorded run is not here"
        in replayed.said
    )


@pytest.mark.parametrize("keeps_books", [True, False])
def test_what_a_library_writes_for_itself_is_not_compared(tmp_path, keeps_books):
    file = tmp_path / "cache.db"
    effects = OutsideEffects(str, lambda: ("agent.py:1", "agent:main"), keeps_books=lambda: keeps_books)
    file.write_text("now")
    effects.heard("open", (str(file), "w", os.O_WRONLY), inside=False)
    assert len(effects.effects()) == int(not keeps_books)


def test_a_pack_names_the_modules_that_write_for_themselves():
    """What they call in the project writes for the project."""
    pack = SimpleNamespace(bookkeeping=("desk.cache",))
    functions = {"__name__": "desk.cache.disk", "writes": keeps_books, "frame": sys._getframe}
    exec("def call(*words): return writes(frame(), *words)\ndef back(function): return function()", functions)
    call, back = functions["call"], functions["back"]

    def asked(packs, owns=__file__.__eq__):
        return [call(packs, owns), back(lambda: keeps_books(sys._getframe(), packs, owns))]

    assert asked([pack]) == [True, False]
    assert asked([pack], lambda file: False) == [True, True]
    assert asked([]) == [False, False]
    assert not keeps_books(sys._getframe(), [pack], lambda file: False)


# --- programs, connections and signals -------------------------------------------------------------------------------

PROGRAMS = {
    "subprocess": "import subprocess\nsubprocess.run(['touch', 'sent.txt'])",
    "a shell": "import os\nos.system('touch sent.txt')",
    "a pipe": "import os\nos.popen('touch sent.txt').read()",
    "spawn": "import os\nos.spawnvp(os.P_WAIT, 'touch', ['touch', 'sent.txt'])",
    "posix_spawn": (
        "import os, shutil\nprocess = os.posix_spawn(shutil.which('touch'), ['touch', 'sent.txt'], os.environ)\n"
        "os.waitpid(process, 0)"
    ),
    "a fork": (
        "import os, shutil\nprocess = os.fork()\nif not process:\n"
        "    os.execv(shutil.which('touch'), ['touch', 'sent.txt'])\n"
        "os.waitpid(process, 0)"
    ),
    "a coroutine": (
        "import asyncio\nasync def main():\n    process = await asyncio.create_subprocess_exec('touch', 'sent.txt')\n"
        "    await process.wait()\nasyncio.run(main())"
    ),
    "an isolated Python": (
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-I', '-S', '-c', \"open('sent.txt', 'w')\"])"
    ),
    "a Python without environment": (
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', \"open('sent.txt', 'w')\"], env={})"
    ),
    "what subprocess is made on": (
        "import _posixsubprocess, os, shutil\n"
        "given = [b'touch', b'sent.txt'], (os.fsencode(shutil.which('touch')),), True, (), None, None\n"
        "errors = os.pipe()\n"
        "rest = (-1, -1, -1, -1, -1, -1, *errors, True, False, -1, None, None, None, -1, None)\n"
        "import sys\n"
        "process = _posixsubprocess.fork_exec(*given, *rest, *(() if sys.version_info >= (3, 14) else (False,)))\n"
        "os.waitpid(process, 0)"
    ),
}


def record_and_replay(folder, source, *options, rules=""):
    """Record a program, remove the file that it created, and replay it."""
    (folder / "autochron.toml").write_text(RULES + rules)
    (folder / "tools.py").write_text(TOOLS)
    (folder / "agent.py").write_text(MAIN + source + "\n")
    ran = autochron(folder, "run", "agent.py")
    assert ran.status == 0, ran.said
    assert (folder / "sent.txt").exists()
    (folder / "sent.txt").unlink()
    return autochron(folder, "replay", "last", *options)


@pytest.mark.parametrize("way", PROGRAMS)
def test_a_replay_does_not_start_a_program_again(tmp_path, way):
    replayed = record_and_replay(tmp_path, PROGRAMS[way])
    assert not (tmp_path / "sent.txt").exists()
    assert replayed.status == 1, replayed.said
    assert "outside every boundary, and a replay does not do that again" in replayed.said


@pytest.mark.parametrize(
    ("rules", "options"),
    [('[[effect]]\nprogram = "touch"\nreason = "harmless"\n', ()), ("", ("--allow-effects",))],
)
def test_a_replay_starts_a_program_if_that_is_allowed(tmp_path, rules, options):
    replayed = record_and_replay(tmp_path, PROGRAMS["subprocess"], *options, rules=rules)
    assert (tmp_path / "sent.txt").exists()
    assert replayed.status == 0, replayed.said
    assert "1 effect let be" in replayed.said


def test_a_replay_does_not_send_a_signal_to_another_process_again(tmp_path):
    sleeper = subprocess.Popen(["sleep", "100"])
    try:
        source = f"import os, signal\nos.kill({sleeper.pid}, signal.SIGCONT)\nopen('sent.txt', 'w').close()"
        replayed = record_and_replay(tmp_path, source)
    finally:
        sleeper.kill()
        sleeper.wait()
    assert replayed.status == 1, replayed.said
    assert "sends signal 18 to process" in replayed.said


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ('[[effect]]\nprogram = "*"\nreason = "all"\n', "fits everything"),
        ('[[effect]]\nreason = "all"\n', "has no `program`, `host` or `path`"),
        ('[[effect]]\nprogram = "git"\n', "reason"),
        ('[[effect]]\nprogram = "git"\nhost = "a"\nreason = "b"\n', "more than one"),
    ],
)
def test_a_malformed_effect_rule_is_refused(tmp_path, rules, message):
    (tmp_path / "autochron.toml").write_text(f"version = 1\n{rules}")
    (tmp_path / "agent.py").write_text("")
    ran = autochron(tmp_path, "run", "agent.py")
    assert ran.status == 2
    assert message in ran.said
    assert "autochron.toml:" in ran.said
