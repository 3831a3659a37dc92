"""Wrong input is refused with one line that says what, where and how to fix it; the status is 2, without a traceback."""

import json
import os
import re
import shutil
import sys

import pytest

from autochron import cli
from tests.cli.processes import autochron, python, trust, write

AGENT = """
import autochron, sys

@autochron.boundary("work", kind="tool")
def work(n):
    return {"n": n}

def answer():
    return 42

if __name__ == "__main__":
    for n in range(2):
        print(work(n)["n"])
"""

FILES = {
    "agent.py": AGENT,
    "syntax.py": "x = = 1\n",
    "plain.txt": "this is no database, and it is long enough not to look like an empty one\n" * 20,
    "folder/inside.txt": "",
    "typo.toml": 'version = 1\n[[boundaryy]]\nname = "x"\n',
    "kind.toml": 'version = 1\n[[boundary]]\nname = "x"\nkind = "tol"\ntarget = "agent:work"\n',
    "field.toml": 'version = 1\n[[boundary]]\nname = "x"\nkind = "tool"\ntargett = "agent:work"\n',
    "two.toml": 'version = 1\n[[boundary]]\nname = "x"\nkind = "tool"\ntarget = "a:b"\ndefine = "a:*"\n',
    "none.toml": 'version = 1\n[[boundary]]\nname = "x"\nkind = "tool"\n',
    "shape.toml": 'version = 1\n[[boundary]]\nname = "x"\nkind = "tool"\ntarget = "agent.work"\n',
    "pack.toml": 'version = 1\npacks = ["opanai"]\n',
    "broken.toml": "version = 1\nversion",
    "noversion.toml": 'packs = ["auto"]\n',
    "newer.toml": "version = 2\n",
    "project.toml": 'version = 1\nproject = ["agnt.py"]\n',
    "latin.toml": b"version = 1\n# \xe9\n",
}


@pytest.fixture
def home(tmp_path):
    write(tmp_path, FILES)
    return tmp_path


PROGRAM = "autochron run agent.py, -m package, or -- uvicorn app:app"
TRACE = "a name, an id or its prefix, `last`, or an exported file"
EXPORT = "`autochron traces export TRACE FILE` makes one"

REFUSED = {
    # Options of another action.
    "traces list --full": "autochron traces list takes no --full; it is for traces show (usage)",
    "traces prune --inputs warn": "autochron traces prune takes no --inputs; it is for traces diff (usage)",
    "traces diff last last --max-age 3d": "autochron traces diff takes no --max-age; it is for traces prune (usage)",
    "traces show last --rows t=1": "autochron traces show takes no --rows; it is for traces export (usage)",
    # Programs.
    "run": f"autochron run wants a program: {PROGRAM} (usage)",
    "run -m": f"autochron run wants a module after -m: {PROGRAM} (usage)",
    "run --": f"autochron run wants a command after --: {PROGRAM} (usage)",
    "run nowhere.py": "there is no program nowhere.py in HERE; give a script, -m MODULE, or -- CONSOLE-SCRIPT (usage)",
    "run -- nowhere": "there is no command nowhere; a console script stands beside PYTHON or on PATH (usage)",
    "run -": "there is no program - in HERE; give a script, -m MODULE, or -- CONSOLE-SCRIPT (usage)",
    # Options.
    "run --ruls typo.toml agent.py": "autochron run has no option --ruls; did you mean --rules? (usage)",
    "run --qiet agent.py": "autochron run has no option --qiet; did you mean --quiet? (usage)",
    "run -x agent.py": "autochron run has no option -x; see autochron run --help (usage)",
    "run --rules": "autochron run: --rules wants a value after it (usage)",
    "run --store= agent.py": "autochron run: --store wants a value, and got an empty one (usage)",
    "run --quiet=yes agent.py": "autochron run: --quiet takes no value (usage)",
    "replay last --jsn": "autochron replay has no option --jsn; did you mean --json? (usage)",
    "replay last --store": "autochron replay: --store wants a value after it (usage)",
    "traces --josn": "autochron traces list has no option --josn; did you mean --json? (usage)",
    "rules --rule x": "autochron rules has no option --rule; did you mean --rules? (usage)",
    # Commands.
    "runx agent.py": "there is no command 'runx'; did you mean run? (usage)",
    "--verson": "there is no command '--verson'; did you mean --version? (usage)",
    "-q traces": "'-q' is no command; options come after the command: autochron COMMAND -q (usage)",
    "zzz": "there is no command 'zzz'; see autochron --help (usage)",
    # Rules.
    "run --rules typo.toml agent.py": "typo.toml:2: the rule file has no key `boundaryy`; nearest is `boundary` (bad-rule)",
    "replay --rules typo.toml last": "typo.toml:2: the rule file has no key `boundaryy`; nearest is `boundary` (bad-rule)",
    "rules --rules typo.toml": "typo.toml:2: the rule file has no key `boundaryy`; nearest is `boundary` (bad-rule)",
    "run --rules kind.toml agent.py": "kind.toml:4: `kind` is `tol`; nearest is `tool` (bad-rule)",
    "run --rules field.toml agent.py": "field.toml:5: [[boundary]] has no key `targett`; nearest is `target` (bad-rule)",
    "run --rules pack.toml agent.py": "pack.toml:2: there is no pack `opanai`; nearest is `openai` (bad-rule)",
    "run --rules broken.toml agent.py": (
        "broken.toml:2: Expected '=' after a key in a key/value pair at column 8 (bad-rule)"
    ),
    "run --rules noversion.toml agent.py": "noversion.toml:1: the rule file has no `version`; write version = 1 (bad-rule)",
    "run --rules newer.toml agent.py": (
        "newer.toml:1: `version` is 2, and this release reads 1; update autochron (bad-rule)"
    ),
    "run --rules project.toml agent.py": (
        "project.toml:2: `project` has `agnt.py`, which isn't there; nearest is `agent.py` (bad-rule)"
    ),
    "run --rules latin.toml agent.py": "latin.toml:2: not UTF-8 (bad-rule)",
    "run --rules no.toml agent.py": (
        "no.toml can't be read (No such file or directory); name another rule file (bad-rule)"
    ),
    "run --rules folder agent.py": "folder can't be read (Is a directory); name another rule file (bad-rule)",
    # Stores.
    "run --store plain.txt agent.py": (
        "plain.txt is no autochron store (file is not a database); give the path of another file (bad-store)"
    ),
    "traces --store plain.txt": (
        "plain.txt is no autochron store (file is not a database); give the path of another file (bad-store)"
    ),
    "run --store folder agent.py": (
        "folder is a folder, not a store; give a file in it, such as folder/traces.db (bad-store)"
    ),
    "replay last --store folder": (
        "folder is a folder, not a store; give a file in it, such as folder/traces.db (bad-store)"
    ),
    "run --store a/b/c.db agent.py": (
        "a/b/c.db can't be made: HERE/a doesn't exist; make it, or give another path (bad-store)"
    ),
    "run --store agent.py/x.db agent.py": (
        "agent.py/x.db can't be made: HERE/agent.py is no folder; give another path (bad-store)"
    ),
    "run --store postgres://x agent.py": (
        "'postgres://x' is no store that autochron knows; give a path, sqlite:///PATH or memory: (bad-store)"
    ),
    # Traces.
    "replay": f"autochron replay wants a trace: {TRACE} (usage)",
    "replay a b": f"autochron replay takes one trace, not 2: {TRACE} (usage)",
    "replay last": "HERE/.autochron/traces.db holds no trace; record one with `autochron run` (no-such-trace)",
    "traces show last": "HERE/.autochron/traces.db holds no trace; record one with `autochron run` (no-such-trace)",
    "replay x.jsonl": f"there is no trace file x.jsonl; {EXPORT} (bad-store)",
    "traces show x.jsonl": f"there is no trace file x.jsonl; {EXPORT} (bad-store)",
    "traces import x.jsonl": "there is no trace file x.jsonl (bad-store)",
    "traces import agent.py": (
        "agent.py:1: this is no autochron trace (Input data was truncated); give the path of a trace file (bad-trace)"
    ),
    "traces lst": "autochron traces has no 'lst'; did you mean list? (usage)",
    "traces show": "autochron traces show wants a trace after it (usage)",
    "traces diff last": "autochron traces diff wants two traces after it (usage)",
    "traces diff last last": "HERE/.autochron/traces.db holds no trace; record one with `autochron run` (no-such-trace)",
    "traces diff x.jsonl last": f"there is no trace file x.jsonl; {EXPORT} (bad-store)",
    "traces diff last last --inputs lax": (
        "autochron traces diff: --inputs is lax; known are `strict`, `warn`, `ignore` (usage)"
    ),
    "traces diff last last --input warn": "autochron traces diff has no option --input; did you mean --inputs? (usage)",
    "traces export last": "autochron traces export wants a trace and a file after it (usage)",
    "traces list x": "autochron traces list wants nothing after it (usage)",
    # Arguments of `autochron rules`.
    "rules nowhere": "there is no nowhere; name a folder or a program (usage)",
    "rules a b": "autochron rules takes one folder or program (usage)",
}


def refusal(home, *words, **more):
    """Run a command that must be refused; return its message, with the paths of this run replaced by placeholders."""
    result = autochron(home, *words, **more)
    assert (result.status, result.text) == (2, "")
    return _placeless(result.said, home)


def _placeless(text, home):
    here = os.path.realpath(home)
    return text.replace(here, "HERE").replace(str(home), "HERE").replace(sys.executable, "PYTHON")


@pytest.fixture
def refusal_here(home, monkeypatch, capsys):
    """Return a function like `refusal` for a command in this process, which runs no program because it is refused."""
    monkeypatch.chdir(home)

    def refusal_of(*words):
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        out, err = capsys.readouterr()
        assert (ended.value.code, out) == (2, "")
        return _placeless(err, home)

    return refusal_of


@pytest.mark.parametrize("line", REFUSED)
def test_wrong_input_is_refused_in_one_line(line, home, refusal_here):
    assert refusal_here(*line.split()) == f"autochron: {REFUSED[line]}\n"
    assert not os.path.exists(home / ".autochron")  # no recording was started


FORKS = """
import os, sys
for at, line in enumerate(sys.stdin.read().splitlines()):
    if os.fork() == 0:
        for number, name in enumerate(("out", "err"), 1):
            os.dup2(os.open(f"{at}.{name}", os.O_CREAT | os.O_WRONLY), number)
        sys.argv[1:] = line.split()
        from autochron.cli import main
        main()
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.slow
def test_wrong_input_is_refused_alike_in_a_process_of_its_own(home):
    """Each command runs in a forked process, because starting Python would take longer than all the commands."""
    write(home, {"forks.py": FORKS})
    done = python(home, "-u", "forks.py", stdin="\n".join(REFUSED).encode())
    assert (done.text.split(), done.said) == (["2"] * len(REFUSED), "")
    for at, line in enumerate(REFUSED):
        assert (home / f"{at}.out").read_text() == ""
        assert _placeless((home / f"{at}.err").read_text(), home) == f"autochron: {REFUSED[line]}\n"
    assert not os.path.exists(home / ".autochron")  # no recording was started


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["two.toml", "none.toml", "shape.toml"])
def test_a_boundary_without_one_selector_is_refused_with_its_line(rules, home):
    line = refusal(home, "run", "--rules", rules, "agent.py")
    assert re.fullmatch(rf"autochron: {re.escape(rules)}:[256]: .+ \(bad-rule\)\n", line)


def test_a_syntax_error_is_reported_as_python_reports_it(home):
    plain, woven = python(home, "syntax.py"), autochron(home, "run", "--quiet", "syntax.py")
    assert woven == plain
    assert plain.status == 1


def test_an_unknown_target_is_a_warning_with_the_nearest_name(home):
    rules = 'version = 1\n[[boundary]]\nname = "x"\nkind = "tool"\ntarget = "agent:answerr"\n'
    write(home, {"autochron.toml": rules})
    result = autochron(home, "run", "agent.py")
    assert (result.status, result.text) == (0, "0\n1\n")
    *_, warning = result.said.splitlines()
    assert warning == (
        "  not woven: agent:answerr: autochron.toml:2: there is no such definition; the nearest is agent:answer "
        "(rule-without-match)"
    )


def test_a_target_in_a_module_that_is_not_imported_is_a_warning_with_the_nearest_name(home):
    write(
        home,
        {"autochron.toml": 'version = 1\n[[boundary]]\nname = "x"\nkind = "tool"\ntarget = "agnet:work"\n'},
    )
    result = autochron(home, "run", "agent.py")
    *_, warning = result.said.splitlines()
    assert (result.status, result.text) == (0, "0\n1\n")
    assert warning.startswith("  not woven: agnet:work: autochron.toml:2: ")
    assert "the nearest is agent" in warning
    assert warning.endswith("(rule-without-match)")


def test_a_decorator_without_its_module_is_a_warning_with_the_nearest_name(home):
    write(
        home,
        {
            "autochron.toml": 'version = 1\n[[boundary]]\nname = "x"\nkind = "tool"\ndecorated = "tool"\n',
            "agent.py": "def tool(function):\n    return function\n\n\n@tool\ndef work():\n    print(1)\n\n\nwork()\n",
        },
    )
    result = autochron(home, "run", "agent.py")
    assert (result.status, result.text) == (0, "1\n")
    assert result.said.splitlines()[-1].endswith("; the nearest decorator is agent.tool (rule-without-match)")


# --- a store with traces ---


@pytest.fixture(scope="module")
def store_folder(tmp_path_factory):
    """Return a folder with a store of two traces, to be copied by tests."""
    folder = tmp_path_factory.mktemp("kept")
    write(folder, FILES)
    for name in ("one", "two"):
        assert autochron(folder, "run", "--quiet", "--name", name, "agent.py").status == 0
    assert autochron(folder, "traces", "export", "last", "trace.jsonl").status == 0
    return folder


@pytest.fixture
def recorded(home, store_folder):
    shutil.copytree(store_folder, home, dirs_exist_ok=True)
    return home


def test_a_reference_that_matches_two_traces_is_refused_with_a_list_of_them(recorded):
    store = "HERE/.autochron/traces.db"
    ids = [json.loads(line)["header"] for line in autochron(recorded, "traces", "--json").text.splitlines()]
    listed = ", ".join(f"{header['id']} ({header['name']}, {header['created']})" for header in ids)
    for command in (("replay",), ("traces", "show"), ("traces", "export")):
        words = (*command, "01", "out.jsonl") if command[-1] == "export" else (*command, "01")
        assert refusal(recorded, *words) == (
            f"autochron: 01 begins 2 ids in {store}: {listed}; give more of the id (no-such-trace)\n"
        )
    assert refusal(recorded, "replay", "tow") == (
        f"autochron: {store} holds no trace tow; did you mean two? (no-such-trace)\n"
    )
    for command in ("replay", "view"):
        assert refusal(recorded, command, "lst") == (
            f"autochron: {store} holds no trace lst; did you mean last? (no-such-trace)\n"
        )


def write_edited(home, change):
    lines = (home / "trace.jsonl").read_bytes().splitlines(keepends=True)
    (home / "edited.jsonl").write_bytes(b"".join(change(lines)))


EDITED = "edited? `autochron traces import FILE --reseal` accepts it"
DAMAGE = {
    "a digit changed": (
        lambda lines: [line.replace(b'"n":1', b'"n":7') for line in lines],
        f"edited.jsonl:5: the digest is wrong: the file isn't as it was written; {EDITED} (bad-trace)",
    ),
    "a line gone": (
        lambda lines: lines[:1] + lines[2:],
        f"edited.jsonl:4: there are 3 lines and not the 4 that were written; {EDITED} (bad-trace)",
    ),
    "truncated in a line": (
        lambda lines: [*lines[:2], lines[2][:40]],
        f"edited.jsonl:3: the file is truncated: it doesn't end with its digest; export it again; {EDITED} (bad-trace)",
    ),
    "truncated in the header": (
        lambda lines: [lines[0][:40]],
        "edited.jsonl:1: the file is truncated; export the trace again (bad-trace)",
    ),
    "empty": (lambda lines: [], "edited.jsonl:1: the file is empty; export the trace again (bad-trace)"),
    "a newer version": (
        lambda lines: [line.replace(b'"autochron":4', b'"autochron":99') for line in lines],
        "edited.jsonl:1: format 99 was made by a newer autochron (this one knows 4); upgrade autochron (bad-trace)",
    ),
    "no version": (
        lambda lines: [lines[0].replace(b'"autochron":4,', b""), *lines[1:]],
        "edited.jsonl:1: this is no autochron trace: no known version; give the path of a trace file (bad-trace)",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_trace_file_is_refused(damage, recorded, refusal_here):
    change, message = DAMAGE[damage]
    write_edited(recorded, change)
    for words in (
        ("replay", "edited.jsonl"),
        ("traces", "show", "edited.jsonl"),
        ("traces", "diff", "edited.jsonl", "last"),
        ("traces", "import", "edited.jsonl"),
    ):
        assert refusal_here(*words) == f"autochron: {message}\n"


def test_a_damaged_trace_file_is_refused_in_a_process_of_its_own(recorded):
    change, message = DAMAGE["a digit changed"]
    write_edited(recorded, change)
    assert refusal(recorded, "replay", "edited.jsonl") == f"autochron: {message}\n"


def test_a_change_of_any_byte_of_a_trace_file_is_refused(recorded, refusal_here):
    data = (recorded / "trace.jsonl").read_bytes()
    for at in range(len(data)):
        (recorded / "edited.jsonl").write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        line = refusal_here("replay", "edited.jsonl")
        assert re.fullmatch(r"autochron: edited\.jsonl:\d+: .+ \(bad-trace\)\n", line), at


def test_reseal_accepts_an_edit_and_seals_it(recorded):
    trace_id = json.loads((recorded / "trace.jsonl").read_text().splitlines()[0])["header"]["id"]
    new_id = f"{trace_id[:-1]}{'Z' if trace_id[-1] != 'Z' else 'Y'}"

    def change(lines):
        changed = [line.replace(b'"returned":{"n":1}', b'"returned":{"n":7}') for line in lines]
        return [line.replace(trace_id.encode(), new_id.encode()) for line in changed]

    write_edited(recorded, change)
    result = autochron(recorded, "traces", "import", "edited.jsonl", "--reseal")
    assert (result.status, result.text, result.said) == (0, f"{new_id} imported: 2 crossings\n", "")
    replayed = autochron(recorded, "replay", new_id, *trust())
    assert replayed.text == "0\n7\n"
    assert replayed.status == 1  # the recorded output of the program is not edited
    assert "line 2 of the output was '1', now it is '7'" in replayed.said


def test_a_trace_is_not_imported_twice(recorded):
    ident = json.loads((recorded / "trace.jsonl").read_text().splitlines()[0])["header"]["id"]
    assert refusal(recorded, "traces", "import", "trace.jsonl") == (
        f"autochron: HERE/.autochron/traces.db holds a trace {ident} already; give the new one an id of its own (bad-store)\n"
    )


def test_export_to_a_folder_or_a_missing_folder_is_refused(recorded):
    assert refusal(recorded, "traces", "export", "last", "folder") == (
        "autochron: folder can't be written (Is a directory); give another path, or make room (bad-store)\n"
    )
    assert refusal(recorded, "traces", "export", "last", "a/b.jsonl") == (
        "autochron: a/b.jsonl can't be written (No such file or directory); give another path, or make room (bad-store)\n"
    )
    assert not [name for name in os.listdir(recorded) if name.endswith(".tmp")]


def test_a_replay_names_a_program_that_is_gone(recorded):
    os.unlink(recorded / "agent.py")
    assert refusal(recorded, "replay", "trace.jsonl", "--allow-unwoven", *trust()) == (
        "autochron: there is no program agent.py in HERE; give a script, -m MODULE, or -- CONSOLE-SCRIPT (usage)\n"
    )


def test_a_trace_that_was_cut_off_is_shown_as_such(home):
    write(
        home,
        {
            "cut.py": AGENT
            + "    import os, signal, time\n    time.sleep(0.3)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        },
    )
    assert autochron(home, "run", "--quiet", "cut.py").status == -9
    shown = autochron(home, "traces", "show", "last")
    assert shown.status == 0
    assert shown.text.splitlines()[1].endswith(", 2 crossings, cut off before its end")
    assert autochron(home, "traces").text.endswith("\tcut off\n")


def test_a_store_in_an_unwritable_folder_is_refused(home):
    if os.geteuid() == 0:
        pytest.skip("root writes anywhere")
    locked = home / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    line = refusal(home, "run", "--store", "locked/x.db", "agent.py")
    assert line.startswith("autochron: locked/x.db can't be used (unable to open database file); ")


def test_json_output_can_be_parsed(recorded):
    shown = autochron(recorded, "traces", "show", "last", "--json")
    assert len(json.loads(shown.text)["envelopes"]) == 2
    assert [
        json.loads(line)["crossings"] for line in autochron(recorded, "traces", "--json").text.splitlines()
    ] == [2, 2]
    for line in autochron(recorded, "rules", "--json").text.splitlines():
        assert set(json.loads(line)) >= {"rule", "fits"}
    replayed = autochron(recorded, "replay", "last", "--json", *trust())
    assert json.loads(replayed.said)["same"] is True
    assert replayed.text == "0\n1\n"


SLOW_ENVIRONMENTS = [
    pytest.param(env, marks=pytest.mark.slow) for env in ({"NO_COLOR": "1"}, {"TERM": "xterm-256color"})
]


@pytest.mark.parametrize("env", [{}, *SLOW_ENVIRONMENTS], ids=str)
def test_output_has_no_colour_without_a_terminal(recorded, env):
    for words in (
        ("traces",),
        ("traces", "show", "last"),
        ("traces", "diff", "one", "two"),
        ("replay", "last"),
        ("rules",),
        ("run", "agent.py"),
    ):
        result = autochron(recorded, *words, env=env)
        assert b"\x1b" not in result.out + result.err


def test_help_goes_to_standard_output_with_status_0(home):
    for words in (
        (),
        ("--help",),
        ("help",),
        *((name, "--help") for name in ("run", "replay", "traces", "rules")),
    ):
        result = autochron(home, *words)
        assert result.status == 0
        assert result.text.startswith("usage: autochron ")
        assert result.said == ""
    assert re.fullmatch(r"autochron \d+\.\d+\.\d+\n", autochron(home, "--version").text)


def test_a_closed_pipe_causes_no_traceback(recorded):
    """`autochron traces | head -0` shows no traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    result = autochron(recorded, "traces", stdout=writer)
    os.close(writer)
    assert (result.status, result.said) == (1, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "line", ["--help", "--version", "run --help", "traces list", "traces show last --json"]
)
def test_a_full_device_causes_no_traceback(line, unbuffered, recorded):
    with open("/dev/full", "wb") as full:
        done = autochron(recorded, *line.split(), stdout=full, env={"PYTHONUNBUFFERED": unbuffered})
    assert (done.status, done.said) == (
        1,
        "autochron: the output can't be written: No space left on device\n",
    )


def test_a_missing_dependency_is_reported_by_python_itself(home):
    """No message of ours hides Python's `ModuleNotFoundError`."""
    result = python(home, "-S", "-m", "autochron", "run", "agent.py")
    assert result.status == 1
    assert "ModuleNotFoundError" in result.said


def test_a_damaged_store_is_refused(recorded):
    store = recorded / ".autochron" / "traces.db"
    data = bytearray(store.read_bytes())
    data[:16] = b"SQLite format 9\0"
    store.write_bytes(data)
    for name in ("traces.db-wal", "traces.db-shm"):
        (store.parent / name).unlink(missing_ok=True)
    assert refusal(recorded, "traces").startswith(
        "autochron: HERE/.autochron/traces.db is no autochron store ("
    )
    shutil.rmtree(store.parent)
