"""The completion scripts, in the shells themselves: what a person who presses the tabulator gets."""

import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest

from autochron.cli.completion_scripts import SCRIPTS
from autochron.cli.reference import command_pages
from tests.cli.processes import autochron, environment, write

AGENT = "print(1)\n"
COMMAND = f"{shlex.quote(sys.executable)} -m autochron"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a folder with three traces, one of a name that a shell would execute, and the three scripts."""
    folder = tmp_path_factory.mktemp("completion")
    write(folder, {"agent.py": AGENT, "sub/x.txt": "", "autochron.toml": "version = 1\npacks = []\n"})
    for name in ("refund", "$(touch owned)", "two words"):
        assert autochron(folder, "run", "--quiet", "--name", name, "agent.py").status == 0
    for shell in SCRIPTS:
        done = autochron(folder, "completion", shell)
        assert (done.status, done.said) == (0, "")
        write(folder, {f"script.{shell}": done.text})
    # A command of this name, which the scripts start for the names of traces.
    write(folder, {"bin/autochron": f'#!/bin/sh\nexec {COMMAND} "$@"\n'})
    (folder / "bin" / "autochron").chmod(0o755)
    return folder


def needs(shell):
    """Skip the test if a shell is not there; it is said which one."""
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed, so its completion is not tried")
    return path


def variables(home):
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return environment(PATH=path, TERM="dumb", HOME=str(home), INPUTRC="/dev/null", LC_ALL="C.UTF-8")


def completed_by_bash(home, line):
    """Return what bash completes a line with, by the function that the script gives it."""
    program = (
        'source script.bash; COMP_LINE=$1; read -ra COMP_WORDS <<< "$1";'
        ' [[ $1 != *" " ]] || COMP_WORDS+=("");'
        " COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_POINT=${#1};"
        " _autochron; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        [needs("bash"), "--norc", "--noprofile", "-c", program, "bash", line],
        cwd=home,
        env=variables(home),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def completed_by_fish(home, line):
    done = subprocess.run(
        [needs("fish"), "--no-config", "-c", "source script.fish; complete -C $argv[1]", line],
        cwd=home,
        env=variables(home),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [entry.partition("\t")[0] for entry in done.stdout.splitlines()]


ASK = {"bash": completed_by_bash, "fish": completed_by_fish}

CASES = {
    "autochron tr": ["traces"],
    "autochron repl": ["replay"],
    "autochron --v": ["--version"],
    "autochron traces ": ["list", "show", "diff", "export", "import", "prune"],
    "autochron traces ex": ["export"],
    "autochron traces diff --inp": ["--inputs"],
    "autochron traces diff --inputs ": ["strict", "warn", "ignore"],
    "autochron traces list --full": [],
    "autochron traces prune --max-": ["--max-age", "--max-size"],
    "autochron incident n": ["new"],
    "autochron incident new --allow": ["--allow-unwoven"],
    "autochron mutate merge --inc": [],
    "autochron mutate --inc": ["--include-signature"],
    "autochron mutate --operators p": ["paper"],
    "autochron check --format s": ["sarif"],
    "autochron run --keep f": ["failed"],
    "autochron run ag": ["agent.py"],
    "autochron replay ref": ["refund"],
    "autochron traces show la": ["last"],
    "autochron completion z": ["zsh"],
    "autochron help stat": ["statuses"],
}


@pytest.mark.parametrize("line", CASES)
@pytest.mark.parametrize("shell", ASK)
def test_a_shell_completes_a_line(home, shell, line):
    assert sorted(ASK[shell](home, line)) == sorted(CASES[line])


@pytest.mark.parametrize("shell", ASK)
def test_commands_and_options_are_all_there(home, shell):
    pages = {page.name: page for page in command_pages()}
    tops = [name for name in pages if " " not in name]
    assert set(ASK[shell](home, "autochron ")) - {"--help", "--version"} == {*tops, "help"}
    for name, page in pages.items():
        long_names = {option for names in page.options for option in names.names if option.startswith("--")}
        assert set(ASK[shell](home, f"autochron {name} --")) >= long_names


@pytest.mark.parametrize("shell", ASK)
def test_a_trace_of_somebody_else_can_t_run_a_command(home, shell):
    names = ASK[shell](home, "autochron traces show ")
    assert "refund" in names
    assert not any("$" in name or " " in name for name in names)
    assert not (home / "owned").exists()


def test_bash_leaves_the_words_of_a_program_to_the_program(home):
    assert "--keep" not in completed_by_bash(home, "autochron run agent.py --k")
    assert completed_by_bash(home, "autochron run --keep all -m ag") == ["agent.py"]


class Terminal:
    """A shell on a terminal."""

    def __init__(self, words, home):
        self.process, self._leader = pty.fork()
        if not self.process:
            os.chdir(home)
            os.execve(words[0], words, variables(home))
        self._shown = ""

    def type(self, text):
        os.write(self._leader, text.encode())

    def wait(self, pattern):
        """Wait until the shell shows something, and return the match."""
        ends = time.monotonic() + 60
        while (match := re.search(pattern, self._shown)) is None:
            assert time.monotonic() < ends, self._shown
            if select.select([self._leader], [], [], 1)[0]:
                self._shown += os.read(self._leader, 65536).decode(errors="replace")
        self._shown = self._shown[match.end() :]
        return match

    def close(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self._leader)


STARTS = {
    "bash": (["--norc", "--noprofile", "--noediting"][:2], "bind 'set bell-style none'"),
    "zsh": (["-f"], "autoload -Uz compinit && compinit -u -D && unsetopt BEEP"),
}
"""By shell: its options, and what it needs before the script."""

TYPED = {
    "autochron trac\tli\t--sto\tx.db": "traces list --store x.db",
    "autochron replay ref\t--inputs wa\t": "replay refund --inputs warn",
    "autochron incid\tn\t--allow\tlast": "incident new --allow-unwoven last",
}


@pytest.mark.parametrize("shell", STARTS)
def test_the_tabulator_completes_what_is_typed(home, shell):
    options, first = STARTS[shell]
    terminal = Terminal([needs(shell), *options, "-i"], home)
    try:
        shown = (
            'autochron() { if [ "$1" = completion ]; then command autochron "$@"; else echo "GOT[$*]"; fi; }'
        )
        terminal.type(f"PS1='ready> '; {first}; source ./script.{shell}; {shown}; echo st''arted\n")
        terminal.wait("started\r\n")
        for typed, expected in TYPED.items():
            terminal.wait("ready> ")
            for part in re.split("(?<=\t)", typed):
                terminal.type(part)
                time.sleep(0.05)  # else a shell may take a paste for what it is
            terminal.type("\n")
            assert terminal.wait(r"GOT\[(.*?)\]")[1].replace("=", " ") == expected
    finally:
        terminal.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "autochron completion wants bash, zsh, fish: "),
        (("tcsh",), "autochron completion wants bash, zsh, fish, not tcsh: "),
    ],
)
def test_another_shell_is_refused_in_one_line(home, words, message):
    done = autochron(home, "completion", *words)
    assert (done.status, done.said) == (
        2,
        f'autochron: {message}eval "$(autochron completion bash)" (usage)\n',
    )


def test_where_there_is_no_store_there_are_no_names(tmp_path):
    done = autochron(tmp_path, "completion", "traces")
    assert (done.status, done.text, done.said) == (0, "", "")
    write(tmp_path, {"broken.db": "no store"})
    done = autochron(tmp_path, "completion", "traces", "--store", "broken.db")
    assert (done.status, done.text, done.said) == (0, "", "")
