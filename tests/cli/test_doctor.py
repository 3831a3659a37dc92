"""`autochron doctor`: what it says of an installation and a project, whole and broken."""

import json
import os
import sqlite3
import subprocess
import sys

import pytest

from autochron.diagnostics import health
from autochron.diagnostics.health import CheckedPlaces, HealthCheck, gravest, health_checks
from tests.cli.processes import ROOT, autochron, environment, finish, start_with, write

RULES = 'version = 1\npacks = ["openai"]\n[[boundary]]\ndefine = "agent:f"\nname = "f"\nkind = "tool"\n'


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a folder with rules and a store of one trace."""
    folder = tmp_path_factory.mktemp("doctor")
    write(folder, {"agent.py": "def f(): return 1\nf()\n", "autochron.toml": RULES})
    assert autochron(folder, "run", "--quiet", "agent.py").status == 0
    return folder


def checked(folder, *words, env=None):
    """Return the exit status and the checks by name."""
    done = autochron(folder, "doctor", "--json", *words, env={"PYTHONDONTWRITEBYTECODE": "", **(env or {})})
    assert done.said == ""
    data = json.loads(done.text)
    assert (done.status == 1) == (data["verdict"] == "problem")
    return done.status, {check["name"]: check for check in data["checks"]}


def probe(name, **places):
    """Return the checks of one probe in this process, by name."""
    place = CheckedPlaces(places.get("rules"), places.get("store", "none.db"))
    return {check.name: check for check in health._probed(name, health._PROBES[name], place)}


def test_a_whole_installation_has_no_problem(recorded, tmp_path):
    status, checks = checked(
        recorded,
        env={"AUTOCHRON_CACHE": str(tmp_path / "woven"), "XDG_CONFIG_HOME": str(tmp_path / "config")},
    )
    assert {name: check["verdict"] for name, check in checks.items() if check["verdict"] == "problem"} == {}
    assert status == 0
    assert checks["rules"]["found"] == f"{recorded / 'autochron.toml'}: 1 boundary, packs openai"
    assert checks["store"]["found"].startswith(f"{recorded / '.autochron' / 'traces.db'}: 1 trace, ")
    assert checks["cache of woven code"]["found"].endswith(": none yet; the first run makes it")
    assert set(checks) >= {"interpreter", "assembler", "installation", "child processes", "pytest plugin"}
    assert set(checks) >= {"extras", "pack openai", "permissions", "user key", "mask key"}
    assert not (tmp_path / "woven").exists()


def test_the_text_has_a_line_for_each_check_and_a_count(recorded):
    done = autochron(recorded, "doctor", env={"AUTOCHRON_CACHE": ""})
    *lines, last = done.text.splitlines()
    assert (done.status, done.said) == (0, "")
    assert lines[0].startswith("ok      interpreter ")
    assert "warning cache of woven code  none: AUTOCHRON_CACHE is set, and empty" in lines
    assert last.split(": ")[1].startswith("0 problems, ")
    quiet = autochron(recorded, "doctor", "-q", env={"AUTOCHRON_CACHE": ""}).text.splitlines()
    assert {line.split()[0] for line in quiet[:-1]} == {"warning", "→"}


BROKEN_STORES = {
    "no database": (b"this is no database" * 100, "is no autochron store"),
    "another database": (None, "is no autochron store but another SQLite database"),
    "a folder": ("folder", "is a folder, not a store"),
    "postgresql://somewhere/db": ("url", "is no store that autochron knows"),
    "no/such/folder/traces.db": ("missing", "doesn't exist"),
}


@pytest.mark.parametrize("name", BROKEN_STORES)
def test_a_store_that_can_t_be_used_is_a_problem(tmp_path, name):
    content, message = BROKEN_STORES[name]
    path = tmp_path / "traces.db"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE x (y)")
        connection.close()
    elif content == "folder":
        path.mkdir()
    store = name if content == "url" else str(tmp_path / name) if content == "missing" else str(path)
    check = probe("store", store=store)["store"]
    assert check.verdict == "problem"
    assert message in check.found
    assert check.remedy


def test_damage_inside_a_store_is_found(recorded, tmp_path):
    source = sqlite3.connect(recorded / ".autochron" / "traces.db")
    target = sqlite3.connect(tmp_path / "traces.db")
    source.backup(target)
    (root,) = target.execute("SELECT rootpage FROM sqlite_master WHERE name = 'crossing'").fetchone()
    (size,) = target.execute("PRAGMA page_size").fetchone()
    source.close()
    target.close()
    with open(tmp_path / "traces.db", "r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    status, checks = checked(recorded, "--store", str(tmp_path / "traces.db"))
    assert (status, checks["store"]["verdict"]) == (1, "problem")
    assert "it is damaged: " in checks["store"]["found"]
    assert "recover" in checks["store"]["remedy"]


@pytest.mark.parametrize("place", ["store", "folder"])
def test_a_store_that_can_t_be_written_is_a_problem(recorded, tmp_path, monkeypatch, place):
    """Root may write anywhere, so the answer of the system is changed here."""
    path = str(recorded / ".autochron" / "traces.db")
    closed = path if place == "store" else os.path.dirname(path)
    may = health.os.access
    monkeypatch.setattr(health.os, "access", lambda name, mode: name != closed and may(name, mode))
    check = probe("store", store=path)["store"]
    assert (check.verdict, check.found.endswith("; it can't be written")) == ("problem", True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_store_that_can_t_be_read_is_a_problem(recorded, tmp_path):
    (tmp_path / "traces.db").write_bytes((recorded / ".autochron" / "traces.db").read_bytes())
    (tmp_path / "traces.db").chmod(0)
    assert probe("store", store=str(tmp_path / "traces.db"))["store"].verdict == "problem"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version = 1\nbondary = 3\n", "autochron.toml:2"),
        ("[[", "autochron.toml:1"),
        ("\0", "autochron.toml"),
    ],
    ids=["key", "syntax", "null"],
)
def test_rules_that_can_t_be_read_are_a_problem_with_their_line(tmp_path, text, message):
    write(tmp_path, {"autochron.toml": text})
    status, checks = checked(tmp_path)
    assert (status, checks["rules"]["verdict"]) == (1, "problem")
    assert message in checks["rules"]["found"]
    assert "pack openai" in checks  # the others are told all the same


def test_no_rules_are_fine_and_a_rule_file_that_is_not_there_is_a_problem(tmp_path):
    found = "no rule file here or above, and none needed: tools are found by name, or a pack knows them"
    assert probe("rules")["rules"] == HealthCheck("rules", "ok", found)
    assert probe("rules", rules=str(tmp_path / "none.toml"))["rules"].verdict == "problem"


def test_a_missing_pth_file_is_a_problem(monkeypatch, tmp_path):
    """An interpreter whose site-packages have no such file: -S leaves all of them out."""
    write(tmp_path, {"python": f'#!/bin/sh\nexec {sys.executable} -S "$@"\n'})
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    check = probe("child processes")["child processes"]
    assert (check.verdict, "autochron_children.pth is not read" in check.found) == ("problem", True)
    assert "pip install" in check.remedy


def test_python_without_site_is_warned_of(recorded):
    paths = os.pathsep.join([str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))])
    command = [sys.executable, "-S", "-m", "autochron", "doctor", "--json"]
    done = finish(start_with(environment(PYTHONPATH=paths), command, recorded, fresh=True))
    checks = [check for check in json.loads(done.out)["checks"] if check["name"] == "child processes"]
    assert "warning" in {check["verdict"] for check in checks}


def test_a_cache_that_can_t_be_made_or_is_not_the_user_s_own_is_a_problem(tmp_path, monkeypatch):
    name = "cache of woven code"
    monkeypatch.setattr(sys, "dont_write_bytecode", False)

    def verdict(folder):
        monkeypatch.setenv("AUTOCHRON_CACHE", str(folder))
        check = probe(name)[name]
        assert (check.verdict == "ok") == (not check.remedy)
        return check.verdict

    (tmp_path / "file").write_text("")
    assert verdict(tmp_path / "file" / "woven") == "problem"
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    assert verdict(tmp_path / "open") == "problem"
    (tmp_path / "own").mkdir(mode=0o700)
    assert verdict(tmp_path / "own") == "ok"
    (tmp_path / "link").symlink_to(tmp_path / "own")
    assert verdict(tmp_path / "link") == "problem"
    assert list((tmp_path / "own").iterdir()) == []
    monkeypatch.setattr(health, "_can_write", lambda folder: False)
    assert verdict(tmp_path / "own") == "problem"
    assert verdict("") == "warning"


@pytest.mark.parametrize(
    ("variables", "found", "remedy"),
    [
        ({"AUTOCHRON_CACHE": ""}, "AUTOCHRON_CACHE is set, and empty", "unset AUTOCHRON_CACHE"),
        (
            {"PYTHONDONTWRITEBYTECODE": "1"},
            "PYTHONDONTWRITEBYTECODE is set",
            "unset PYTHONDONTWRITEBYTECODE",
        ),
        (
            {"AUTOCHRON_CACHE": "", "PYTHONDONTWRITEBYTECODE": "1"},
            "AUTOCHRON_CACHE is set, and empty",
            "unset AUTOCHRON_CACHE and PYTHONDONTWRITEBYTECODE",
        ),
        ({}, "Python runs with -B", "start Python without -B"),
    ],
)
def test_a_cache_that_is_switched_off_is_told_with_the_variable_that_is_set(
    monkeypatch, variables, found, remedy
):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("AUTOCHRON_CACHE", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    check = probe("cache of woven code")["cache of woven code"]
    assert check.found == f"none: {found}"
    assert check.remedy == f"{remedy}: else each start weaves all modules anew"


@pytest.mark.skipif(
    not os.path.isdir("/proc/self"), reason="needs a file system that is read-only for everybody"
)
def test_a_folder_on_a_file_system_that_refuses_is_found_closed(tmp_path):
    assert (health._can_write("/proc/self"), health._can_write(str(tmp_path))) == (False, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "mode", "verdict"),
    [("no key", 0o600, "problem"), ("ab" * 32, 0o644, "warning"), ("ab" * 32, 0o600, "ok"), (None, 0, "ok")],
)
def test_the_mask_key(tmp_path, monkeypatch, content, mode, verdict):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("AUTOCHRON_MASK_KEY", raising=False)
    if content is not None:
        write(tmp_path, {"autochron/mask.key": content})
        (tmp_path / "autochron").chmod(0o700)
        (tmp_path / "autochron" / "mask.key").chmod(mode)
    check = probe("keys")["mask key"]
    assert (check.verdict, content is None or "ab" * 32 not in check.found) == (verdict, True)


MASKS = "def f({0}): return {1}\n\nf({2})\n"
SECRET = "sk-proj-Zq3vT8mKx1Lr6NbW0yHdPfUe"


@pytest.mark.parametrize(
    ("program", "is_made"),
    [
        (MASKS.format("key", "1", f"'{SECRET}'"), True),
        (MASKS.format("", f"'{SECRET}'", ""), False),
    ],
    ids=["input", "outcome"],
)
def test_the_mask_key_is_made_by_a_run_that_masks_an_input_and_by_no_other(tmp_path, program, is_made):
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "AUTOCHRON_MASK_KEY": ""}
    write(tmp_path, {"agent.py": program, "autochron.toml": RULES})
    assert autochron(tmp_path, "run", "agent.py", env=config).status == 0
    assert SECRET.encode() not in (tmp_path / ".autochron" / "traces.db").read_bytes()
    check = checked(tmp_path, env=config)[1]["mask key"]
    file = str(tmp_path / "config" / "autochron" / "mask.key")
    assert (check["verdict"], check["found"] == file) == ("ok", is_made)
    if not is_made:
        words = "the first recording that masks something in an input or in the program's output makes"
        assert check["found"] == f"none yet, and masking needs none; {words} {file}"


@pytest.mark.parametrize(
    ("variables", "verdict"),
    [
        ({}, "ok"),
        ({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, "warning"),
        ({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p autochron.pytest_plugin"}, "ok"),
        ({"PYTEST_ADDOPTS": "-p no:autochron"}, "warning"),
    ],
    ids=str,
)
def test_the_pytest_plugin(monkeypatch, variables, verdict):
    for name in ("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert probe("pytest plugin")["pytest plugin"].verdict == verdict


def test_a_pack_whose_library_has_an_untried_version_is_warned_of(monkeypatch):
    from autochron.recording import versions

    monkeypatch.setitem(versions._versions, "openai", "99.0.0")
    check = probe("packs")["pack openai"]
    assert (check.verdict, check.found.startswith("openai 99.0.0, tried with ")) == ("warning", True)


def test_an_assembler_that_there_is_not_is_a_problem_and_the_rest_is_checked(recorded):
    status, checks = checked(recorded, env={"AUTOCHRON_ASSEMBLER": "best"})
    assert (status, checks["assembler"]["verdict"]) == (1, "problem")
    assert "AUTOCHRON_ASSEMBLER is 'best'" in checks["assembler"]["found"]
    assert checks["store"]["verdict"] == "ok"


def test_a_check_that_fails_itself_is_a_problem(monkeypatch):
    def fails(places):
        yield HealthCheck("first", "ok", "fine")
        raise RuntimeError("out of order")

    monkeypatch.setattr(health, "_PROBES", {"broken": fails})
    first, second = health_checks(CheckedPlaces(None, "x.db"))
    assert (first.verdict, second.verdict) == ("ok", "problem")
    assert (second.name, second.found) == ("broken", "the check failed: RuntimeError: out of order")


def test_the_gravest_verdict_counts():
    checks = [HealthCheck("x", verdict, "") for verdict in ("ok", "warning", "problem")]
    assert [gravest(checks[:number]) for number in range(4)] == ["ok", "ok", "warning", "problem"]


def test_words_are_refused_in_one_line(tmp_path):
    done = autochron(tmp_path, "doctor", "store")
    assert (done.status, done.said) == (
        2,
        "autochron: autochron doctor takes no words, and got 'store' (usage)\n",
    )


def test_a_copy_that_is_not_installed_is_warned_of(recorded):
    """The package lies on the search path, and has no metadata there."""
    program = (
        "import importlib.metadata as m, runpy, sys\n"
        "found = m.version\n"
        "def version(name):\n"
        "    if name == 'autochron': raise m.PackageNotFoundError(name)\n"
        "    return found(name)\n"
        "m.version = version\n"
        "sys.argv = ['autochron', 'doctor', '--json']\n"
        "runpy.run_module('autochron', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=recorded, env=environment(), capture_output=True, check=False
    )
    (check,) = [check for check in json.loads(done.stdout)["checks"] if check["name"] == "installation"]
    assert check["verdict"] == "warning"
