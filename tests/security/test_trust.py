"""`replay`, `incident new` and `impact` run what a trace names only where that may be."""

import os
import pty
import re
import shutil
import subprocess
import sys

import pytest
from msgspec import structs

from autochron.errors import UntrustedTraceError
from autochron.replaying.command_trust import refuse_foreign
from autochron.rules.loading import load_rules
from autochron.store.tracefile import read_trace, write_trace
from tests.cli.processes import autochron, environment, write
from tests.incidents.verdicts import PLUGINS
from tests.security.agents import AGENT, FILES, RULES, recorded
from tests.security.hostile import HOSTILE


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Record a program in a folder of its own."""
    return recorded(tmp_path_factory.mktemp("made"))


@pytest.fixture
def received(made, tmp_path):
    """Return a folder with the same program, and the trace that somebody sent."""
    write(tmp_path, FILES)
    shutil.copy(made / "trace.jsonl", tmp_path)
    return tmp_path


def has_run(folder):
    return (folder / "ran").exists()


def command_of(said):
    """Return the digest that a refusal names."""
    return re.search(r"--trust ([0-9a-f]{16}) \(untrusted-trace\)", said)[1]


COMMANDS = {
    "replay": ("replay", "trace.jsonl"),
    "incident": ("incident", "new", "trace.jsonl", "incident"),
    "impact": ("impact", "trace.jsonl"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_trace_of_another_folder_is_refused_and_says_how_to_go_on(received, words):
    done = autochron(received, *words, env=PLUGINS)
    assert done.status == 2
    assert done.said.startswith("autochron: trace ")
    assert "runs `python agent.py` in " in done.said
    assert "and was not recorded here; if that is meant: autochron " in done.said
    assert f"{' '.join(words)} --trust " in done.said
    assert done.said.count("\n") == 1
    assert not has_run(received)
    again = autochron(received, *words, "--trust", command_of(done.said), env=PLUGINS)
    assert "untrusted" not in again.said
    assert again.status in {0, 1}


@pytest.mark.parametrize("trusted", ["", "0" * 16, "yes", "*"])
def test_another_digest_is_no_yes(received, trusted):
    done = autochron(received, "replay", "trace.jsonl", "--trust", trusted)
    assert (done.status, has_run(received)) == (2, False)


def test_what_was_recorded_here_is_not_asked_for(made):
    assert autochron(made, "replay", "last").status == 0
    assert autochron(made, "replay", "trace.jsonl").status == 0


def test_what_another_user_recorded_here_is_asked_for(made, tmp_path):
    done = autochron(
        made, "replay", "trace.jsonl", env={"XDG_CONFIG_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    )
    assert (done.status, "(untrusted-trace)" in done.said) == (2, True)


def test_a_seal_is_of_one_command(made, received):
    trace = read_trace(str(received / "trace.jsonl"))
    for changes in (
        {"target": "other.py"},
        {"arguments": ("--all",)},
        {"mode": "module", "target": "agent"},
        {"folder": "sub"},
    ):
        command = structs.replace(trace.header.command, **changes)
        write_trace(
            structs.replace(trace, header=structs.replace(trace.header, command=command)),
            str(made / "changed.jsonl"),
        )
        done = autochron(made, "replay", "changed.jsonl")
        assert (done.status, "(untrusted-trace)" in done.said) == (2, True), changes


def test_what_git_tracks_is_not_asked_for(received):
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run([*git, "init", "-q"], cwd=received, check=True)
    assert autochron(received, "replay", "trace.jsonl").status == 2
    subprocess.run([*git, "add", "trace.jsonl"], cwd=received, check=True)
    assert autochron(received, "replay", "trace.jsonl").status == 0


def test_git_runs_nothing_that_its_settings_name(received):
    subprocess.run(["git", "init", "-q"], cwd=received, check=True)
    hook = received / "hook.sh"
    hook.write_text("#!/bin/sh\ntouch owned\n")
    hook.chmod(0o755)
    for key in ("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor"):
        subprocess.run(["git", "config", key, str(hook)], cwd=received, check=True)
    assert autochron(received, "replay", "trace.jsonl").status == 2
    assert not (received / "owned").exists()


def test_a_script_outside_the_root_is_asked_for_even_where_it_was_recorded(tmp_path):
    write(tmp_path, {"elsewhere/agent.py": AGENT, "home/autochron.toml": RULES})
    assert autochron(tmp_path / "home", "run", "../elsewhere/agent.py").status == 0
    done = autochron(tmp_path / "home", "replay", "last")
    assert (done.status, "which lies outside the root" in done.said) == (2, True)


def test_a_link_out_of_the_root_is_outside(made, tmp_path):
    write(tmp_path, {"home/autochron.toml": RULES, "elsewhere/agent.py": AGENT})
    (tmp_path / "home" / "agent.py").symlink_to(tmp_path / "elsewhere" / "agent.py")
    assert autochron(tmp_path / "home", "run", "agent.py").status == 0
    done = autochron(tmp_path / "home", "replay", "last")
    assert (done.status, "which lies outside the root" in done.said) == (2, True)


@pytest.mark.parametrize("answer", ["y\n", "n\n", "\n"])
def test_on_a_terminal_it_is_asked_for(received, answer):
    main, terminal = pty.openpty()
    words = [sys.executable, "-m", "autochron", "replay", "trace.jsonl"]
    process = subprocess.Popen(
        words, cwd=received, env=environment(), stdin=terminal, stdout=subprocess.PIPE, stderr=terminal
    )
    os.close(terminal)
    said = b""
    while b"[y/N] " not in said:
        said += os.read(main, 4096)
    assert b"runs `python agent.py` in" in said
    os.write(main, answer.encode())
    out, _ = process.communicate(timeout=60)
    os.close(main)
    assert (process.returncode, out) == ((0, b"2\n") if answer == "y\n" else (2, b""))


@pytest.mark.parametrize(
    "text", [each for each in HOSTILE if each and "\ud800" not in each], ids=lambda text: ascii(text[:10])
)
def test_a_hostile_command_is_shown_on_one_line(received, text, monkeypatch):
    monkeypatch.chdir(received)
    header = read_trace("trace.jsonl").header
    command = structs.replace(header.command, target=text, arguments=(text,))
    header = structs.replace(header, id=text[:20], command=command)
    with pytest.raises(UntrustedTraceError) as refused:
        refuse_foreign(header, "trace.jsonl", load_rules("autochron.toml"), ("replay", "trace.jsonl", text))
    assert str(refused.value).isprintable()
