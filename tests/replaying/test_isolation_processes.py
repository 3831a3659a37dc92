"""Denials also hold in the processes that live crossings start. Processes that can't be watched are reported."""

import json
import subprocess
import sys

import pytest

from autochron.isolation import process_starts
from tests.agents.workshop import Fresh, write

AGENT = '''
import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

CODE = "import agent; agent.deed({!r})"


def deed(what):
    """Do it, or say why not."""
    try:
        if what == "files":
            with open("out.txt", "w") as file:
                file.write("changed")
        elif what == "network":
            with socket.socket() as client:
                client.connect(("127.0.0.1", 9))
        elif what == "subprocess":
            subprocess.run(["true"], check=True)
        done = "done"
    except OSError as error:
        done = type(error).__name__
    print(done, flush=True)
    return done


def tool(how, what):
    if how == "here":
        deed(what)
    elif how == "uncaught":
        open("out.txt", "w")
    elif how == "subprocess":
        subprocess.run([sys.executable, "agent.py", "deed", what])
    elif how == "asyncio":
        async def start():
            process = await asyncio.create_subprocess_exec(sys.executable, "agent.py", "deed", what)
            await process.wait()
        asyncio.run(start())
    elif how == "imports":
        import helper
        subprocess.run([sys.executable, "-c", "import helper_below"])
        deed(what)
    elif how == "shell":
        subprocess.run(f"{sys.executable} agent.py deed {what}; echo shell >> shell.txt", shell=True)
    elif how == "system":
        os.system(f"SECRET=hush {sys.executable} agent.py deed {what}")
    elif how == "stranger":
        subprocess.run([sys.executable, "-S", "-c", "import os; open('stranger.txt', 'w')"])
    elif how == "exec":
        if os.fork() == 0:
            os.execvp("true", ["true", "hush"])
        os.wait()
    elif how == "fork":
        if os.fork() == 0:
            deed(what)
            os._exit(0)
        os.wait()
    elif how == "grandchild":
        subprocess.run([sys.executable, "agent.py", "below", what])
    elif how == "executor":
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            print(pool.submit(deed, what).result())
    elif how == "forked pool":
        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(pool.map(deed, [what]))
    else:
        process = multiprocessing.get_context(how).Process(target=deed, args=(what,))
        process.start()
        process.join()


if __name__ == "__main__":
    if sys.argv[1] == "deed":
        deed(sys.argv[2])
    elif sys.argv[1] == "below":
        subprocess.run([sys.executable, "agent.py", "deed", sys.argv[2]])
    else:
        tool(*sys.argv[1:])
'''

RULES = """
[[boundary]]
name = "{__name__}"
kind = "tool"
target = "agent:tool"
"""


WORDS = ["--live", "tool", "--inputs", "ignore"]


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """Return a folder with the agent and a trace in which its tool does nothing."""
    folder = tmp_path_factory.mktemp("agent")
    write(folder, AGENT, rules=RULES)
    recorded = Fresh().run(folder, "run", "agent.py", "here", "nothing")
    assert recorded.status == 0, recorded.stderr
    return folder


@pytest.fixture
def replays(traced):
    """Return a function that replays the agent with its tool live and something denied."""
    for name in ("shell.txt", "out.txt", "stranger.txt"):
        (traced / name).unlink(missing_ok=True)

    def replay(how, deed, deny, **more):
        denial = ["--deny", deny] if deny else []
        words = [*WORDS, *denial, "--json", "--", "agent.py", how, deed]
        done = Fresh().run(traced, "replay", "last", *words, **more)
        return done, json.loads(done.stderr.splitlines()[-1])["divergences"]

    return replay


def of_kind(divergences, kind):
    return [divergence for divergence in divergences if divergence["kind"] == kind]


@pytest.mark.parametrize(
    ("how", "deed"),
    [
        ("subprocess", "files"),
        ("fork", "network"),
        ("spawn", "files"),
        ("executor", "files"),
        *(
            pytest.param(how, what, marks=pytest.mark.slow)
            for how, what in [
                ("asyncio", "network"),
                ("forkserver", "files"),
                ("forked pool", "files"),
                ("grandchild", "network"),
            ]
        ),
        *(
            pytest.param(how, what, marks=pytest.mark.thorough)
            for how, what in [
                ("subprocess", "network"),
                ("spawn", "network"),
                ("fork", "files"),
                ("executor", "network"),
                ("forked pool", "network"),
                ("grandchild", "files"),
            ]
        ),
    ],
)
def test_a_denial_holds_in_python_processes_that_a_live_crossing_starts(how, deed, replays, traced):
    done, divergences = replays(how, deed, deed)
    assert b"DeniedError" in done.stdout
    (denied,) = of_kind(divergences, "denied")
    says = (
        "opens out.txt for writing at agent.py:"
        if deed == "files"
        else "reaches for 127.0.0.1:9 at agent.py:"
    )
    assert denied["message"].startswith(f"tool[1] {says}")
    assert (denied["address"], denied["severity"], done.status) == ("tool[1]", "error", 1)
    assert of_kind(divergences, "child") == []
    assert not (traced / "out.txt").exists()


@pytest.mark.parametrize("how", ["executor", "spawn", "subprocess"])
def test_without_a_denial_a_started_process_acts_for_real(how, replays):
    done, divergences = replays(how, "network", "")
    assert b"ConnectionRefusedError" in done.stdout, done.stderr
    assert of_kind(divergences, "network") == []


def test_a_denial_holds_in_a_process_that_the_recording_allowed(tmp_path):
    write(tmp_path, AGENT, rules=RULES)
    recorded = Fresh().run(tmp_path, "run", "agent.py", "subprocess", "files")
    assert (recorded.status, recorded.stdout) == (0, b"done\n"), recorded.stderr
    (tmp_path / "out.txt").unlink()
    done = Fresh().run(tmp_path, "replay", "last", "--live", "tool", "--deny", "files")
    assert (done.status, done.stdout) == (1, b"DeniedError\n"), done.stderr
    assert "first: tool[1] opens out.txt for writing at agent.py:" in done.stderr
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("shell", "starts a child process of sh"),
        ("system", f"starts a child process of {sys.executable.rpartition('/')[2]}"),
        pytest.param("stranger", "starts a child process of python", marks=pytest.mark.slow),
        pytest.param("exec", "is replaced by true", marks=pytest.mark.slow),
    ],
)
def test_a_process_that_cannot_be_watched_is_reported(how, says, replays, traced):
    done, divergences = replays(how, "files", "files")
    (notice,) = of_kind(divergences, "child")
    assert notice["message"].startswith(f"tool[1] {says}")
    assert "at agent.py:" in notice["message"]
    assert "hush" not in done.stderr
    assert notice["severity"] == "notice"
    # The Python process inside the shell is watched nevertheless.
    assert len(of_kind(divergences, "denied")) == (how in {"shell", "system"})
    assert not (traced / "out.txt").exists()


@pytest.mark.parametrize("how", ["subprocess", "shell", "fork", "spawn", "executor", "forked pool"])
def test_no_process_starts_where_processes_are_denied(how, replays, traced):
    done, divergences = replays(how, "files", "subprocess")
    (denied,) = of_kind(divergences, "denied")
    assert denied["message"].startswith("tool[1] starts a ")
    assert "other processes are denied" in denied["message"]
    assert (done.status, of_kind(divergences, "child")) == (1, [])
    assert not (traced / "out.txt").exists()


def test_an_uncaught_refusal_ends_the_program_by_name(replays):
    done, _ = replays("uncaught", "files", "files")
    assert "PermissionError" not in done.stderr
    assert "autochron.errors.DeniedError: tool[1] opens out.txt for writing at agent.py:" in done.stderr
    assert done.status == 1
    traceback = done.stderr.partition("DeniedError")[0]
    assert "isolation.py" not in traceback
    assert "network.py" not in traceback
    assert 'open("out.txt", "w")' in traceback


def test_writing_bytecode_is_not_refused(replays, traced):
    for name in ("helper", "helper_below"):
        (traced / f"{name}.py").write_text("value = 1\n")
    more = {"AUTOCHRON_CACHE": str(traced / "plans"), "PYTHONDONTWRITEBYTECODE": ""}
    done, divergences = replays("imports", "nothing", "files,network", **more)
    assert (done.stdout, of_kind(divergences, "denied"), done.status) == (b"done\n", [], 0)
    compiled = sorted(path.name.partition(".")[0] for path in (traced / "__pycache__").iterdir())
    assert compiled == ["helper", "helper_below"]
    assert (traced / "plans").is_dir()


COMMANDS = [
    "script.py -I",
    "-I script.py",
    "-E script.py",
    "-S script.py",
    "-BSu script.py",
    "-u -W ignore script.py -I",
    "-Wignore -I script.py",
    "-W ignore -I script.py",
    "-uW ignore -I script.py",
    "-uWignore -I script.py",
    "-Wignore::ImportWarning script.py",
    "-W ignore::ImportWarning script.py",
    "-X utf8 -E script.py",
    "-Xutf8 -E script.py",
    "-X pycache_prefix=SEI script.py",
    "-Xpycache_prefix=SEI script.py",
    "--check-hash-based-pycs always script.py -I",
    "--check-hash-based-pycs always -I script.py",
    "-B --check-hash-based-pycs never -uS script.py",
    "-- script.py -I",
    "-- -I",
    "- -I",
    "-I -",
    "-m script -S",
    "-mscript -S",
    "-Bm script -S",
    "-ES -m script",
    "-c import(script) -E",
    "-cimport(script) -E",
    "-Sc import(script) -E",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_python_takes_part_unless_its_options_forbid(command, tmp_path, monkeypatch):
    monkeypatch.setattr(process_starts, "find_pth_file", lambda: "autochron_children.pth")
    code = "import sys\nprint(not (sys.flags.no_site or sys.flags.ignore_environment))\n"
    for name in ("script.py", "-I"):
        (tmp_path / name).write_text(code)
    words = [sys.executable, *(word.replace("(script)", " script") for word in command.split())]
    done = subprocess.run(words, cwd=tmp_path, input=code, capture_output=True, text=True, check=True)
    joins = process_starts.takes_part("subprocess.Popen", (sys.executable, words, None, None))
    assert str(joins) == done.stdout.strip()
