"""`replay`, `incident new` and `impact` run the command of a trace only if the trace is trusted."""

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
def sender(tmp_path_factory):
    """Record a program in a folder of its own, and return the folder."""
    return recorded(tmp_path_factory.mktemp("made"))


@pytest.fixture
def received(sender, tmp_path):
    """Return a folder with the same program, and a trace that somebody else recorded."""
    write(tmp_path, FILES)
    shutil.copy(sender / "trace.jsonl", tmp_path)
    return tmp_path


def has_run(folder):
    return (folder / "ran").exists()


def digest_in(message):
    """Return the command digest that a refusal names."""
    return re.search(r"--trust ([0-9a-f]{16}) \(untrusted-trace\)", message)[1]


COMMANDS = {
    "replay": ("replay", "trace.jsonl"),
    "incident": ("incident", "new", "trace.jsonl", "incident"),
    "impact": ("impact", "trace.jsonl"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_trace_from_another_folder_is_refused_and_the_message_says_how_to_trust_it(received, words):
    done = autochron(received, *words, env=PLUGINS)
    assert done.status == 2
    assert done.said.startswith("autochron: trace ")
    assert "runs `python agent.py` in " in done.said
    assert "and was not recorded here; if that is meant: autochron " in done.said
    assert f"{' '.join(words)} --trust " in done.said
    assert done.said.count("\n") == 1
    assert not has_run(received)
    trusted = autochron(received, *words, "--trust", digest_in(done.said), env=PLUGINS)
    assert "untrusted" not in trusted.said
    assert trusted.status in {0, 1}


@pytest.mark.parametrize("trusted", ["", "0" * 16, "yes", "*"])
def test_a_wrong_digest_does_not_trust_a_trace(received, trusted):
    done = autochron(received, "replay", "trace.jsonl", "--trust", trusted)
    assert (done.status, has_run(received)) == (2, False)


def test_a_trace_that_the_user_recorded_here_is_trusted(sender):
    assert autochron(sender, "replay", "last").status == 0
    assert autochron(sender, "replay", "trace.jsonl").status == 0


def test_a_trace_that_another_user_recorded_here_is_not_trusted(sender, tmp_path):
    done = autochron(
        sender, "replay", "trace.jsonl", env={"XDG_CONFIG_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    )
    assert (done.status, "(untrusted-trace)" in done.said) == (2, True)


def test_a_seal_holds_for_one_command_only(sender, received):
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
            str(sender / "changed.jsonl"),
        )
        done = autochron(sender, "replay", "changed.jsonl")
        assert (done.status, "(untrusted-trace)" in done.said) == (2, True), changes


def test_a_trace_that_git_tracks_is_trusted(received):
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run([*git, "init", "-q"], cwd=received, check=True)
    assert autochron(received, "replay", "trace.jsonl").status == 2
    subprocess.run([*git, "add", "trace.jsonl"], cwd=received, check=True)
    assert autochron(received, "replay", "trace.jsonl").status == 0


def test_asking_git_runs_no_program_from_its_settings(received):
    subprocess.run(["git", "init", "-q"], cwd=received, check=True)
    hook = received / "hook.sh"
    hook.write_text("#!/bin/sh\ntouch owned\n")
    hook.chmod(0o755)
    for key in ("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor"):
        subprocess.run(["git", "config", key, str(hook)], cwd=received, check=True)
    assert autochron(received, "replay", "trace.jsonl").status == 2
    assert not (received / "owned").exists()


def test_a_script_outside_the_root_is_not_trusted_even_where_it_was_recorded(tmp_path):
    write(tmp_path, {"elsewhere/agent.py": AGENT, "home/autochron.toml": RULES})
    assert autochron(tmp_path / "home", "run", "../elsewhere/agent.py").status == 0
    done = autochron(tmp_path / "home", "replay", "last")
    assert (done.status, "which lies outside the root" in done.said) == (2, True)


def test_a_script_that_is_a_link_out_of_the_root_is_not_trusted(sender, tmp_path):
    write(tmp_path, {"home/autochron.toml": RULES, "elsewhere/agent.py": AGENT})
    (tmp_path / "home" / "agent.py").symlink_to(tmp_path / "elsewhere" / "agent.py")
    assert autochron(tmp_path / "home", "run", "agent.py").status == 0
    done = autochron(tmp_path / "home", "replay", "last")
    assert (done.status, "which lies outside the root" in done.said) == (2, True)


@pytest.mark.parametrize("answer", ["y\n", "n\n", "\n"])
def test_on_a_terminal_the_user_is_asked_for_trust(received, answer):
    main, terminal = pty.openpty()
    words = [sys.executable, "-m", "autochron", "replay", "trace.jsonl"]
    process = subprocess.Popen(
        words, cwd=received, env=environment(), stdin=terminal, stdout=subprocess.PIPE, stderr=terminal
    )
    os.close(terminal)
    prompt = b""
    while b"[y/N] " not in prompt:
        prompt += os.read(main, 4096)
    assert b"runs `python agent.py` in" in prompt
    os.write(main, answer.encode())
    out, _ = process.communicate(timeout=60)
    os.close(main)
    assert (process.returncode, out) == ((0, b"2\n") if answer == "y\n" else (2, b""))


@pytest.mark.parametrize(
    "text", [text for text in HOSTILE if text and "\ud800" not in text], ids=lambda text: ascii(text[:10])
)
def test_a_hostile_command_is_shown_on_one_line(received, text, monkeypatch):
    monkeypatch.chdir(received)
    header = read_trace("trace.jsonl").header
    command = structs.replace(header.command, target=text, arguments=(text,))
    header = structs.replace(header, id=text[:20], command=command)
    with pytest.raises(UntrustedTraceError) as refused:
        refuse_foreign(header, "trace.jsonl", load_rules("autochron.toml"), ("replay", "trace.jsonl", text))
    assert str(refused.value).isprintable()
