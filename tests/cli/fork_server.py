"""Start commands of `autochron`, and pytest, as forks of a process that has imported what they import.

Each is a process of its own with the streams, the folder and the environment that were asked for; what it shares with others
is the start of the interpreter, which takes two thirds of the processor time of a short command. A test whose point is that
start (options of Python, hash seeds, the command line in `/proc`) starts a fresh process: with `fresh=True` of
`tests.cli.processes`, or with the fixture `as_users_do` of tests/cli. In thorough runs all tests in tests/cli do so, and
with `--fresh` all tests.
"""

import array
import atexit
import functools
import hashlib
import marshal
import os
import socket
import subprocess
import sys
import tempfile

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fork_server_main.py")

WARM_UP = {
    ("autochron", "run"): ["--quiet", "agent.py"],
    ("autochron", "replay"): ["last"],
    ("autochron", "traces"): ["show", "last"],
    ("autochron", "check"): ["agent.py"],
    ("autochron", "rules"): [],
    ("pytest",): ["-q", "-p", "no:cacheprovider", "agent.py"],
}
"""For each command that has a server, by the words after `python -m`: the other words of a small use of it. That imports what
nearly each use imports.
"""

FIRST = "imported_first"
"""The module that the program of the warm-up imports."""

BOUNDARY = "[[boundary]]"
"""How a table of a rule file begins that makes a run import all that crossings need."""

PROGRAM = {
    "agent.py": f"import {FIRST}\n",
    f"{FIRST}.py": "def cross():\n    pass\n",
    "autochron.toml": "version = 1\npacks = []\n",
}
"""The files of the warm-up."""

WOVEN = f'{BOUNDARY}\nname = "cross"\nkind = "tool"\ntarget = "{FIRST}:cross"\n'
"""What its rule file has, too, if that of the command has a boundary."""

is_on = True
"""Whether servers start commands; else each process is a fresh one."""

kept_in = ""
"""The folder in which the workers of one test run keep what commands import; empty if they don't."""

INTERPRETER = ("PYTHON", "LANG", "LC_", "LD_", "TZ", "MALLOC_", "GLIBC_", "AUTOCHRON_CHILD")
"""How the names of variables begin that the interpreter reads when it starts."""

PLUGINS = ("PYTEST_ADDOPTS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_PLUGINS")
"""The variables that decide which plugins pytest imports."""


def served(command, folder, environment, options):
    """Return the command of the server that can start a process, with nothing lost; empty if none can.

    Args:
        command: the words.
        folder: the folder of the process.
        environment: the variables of the process.
        options: the keyword arguments for `Popen`, beside the streams and the folder.
    """
    words = words_of(command)
    if not is_on or options or sys.platform != "linux" or not words:
        return ()
    if not os.path.isdir(environment.get("PYTHONPATH", "")):
        return ()
    name = next((name for name in (tuple(words[:2]), tuple(words[:1])) if name in WARM_UP), ())
    return (*name, BOUNDARY) if name[1:] in {("run",), ("replay",)} and has_boundary(folder) else name


def words_of(command):
    """Return the words of a command after `python -m` or `python -P -m`; none for another command."""
    for start in ([sys.executable, "-m"], [sys.executable, "-P", "-m"]):
        if command[: len(start)] == start:
            return command[len(start) :]
    return []


def has_boundary(folder):
    """Return whether the rule file of a folder has a boundary."""
    try:
        with open(os.path.join(folder, "autochron.toml"), encoding="utf-8", errors="replace") as file:
            return BOUNDARY in file.read()
    except OSError:
        return False


class ForkedProcess(subprocess.Popen):
    """A process of a command, started by a fork server."""

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *more):
        read_in, write_in, read_out, write_out, read_err, write_err = more[3:9]
        self._status, status = os.pipe()
        given = (read_in, write_out, write_err)
        streams = [number if descriptor == -1 else descriptor for number, descriptor in enumerate(given)]
        words = words_of(args)
        options = tuple(args[1 : args.index("-m")])
        request = marshal.dumps((words, os.path.abspath(cwd), env))
        try:
            command = served(args, cwd, env, {})
            server = server_of(command, options, variables_of(command, env))
            server.sendmsg(
                [request],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [*streams, status]))],
            )
        finally:
            os.close(status)
            self._close_pipe_fds(read_in, write_in, read_out, write_out, read_err, write_err)
        self._said = b""
        self._child_created = True
        while b"\n" not in self._said:
            self._said += self._more()
        self.pid = int(self._said.partition(b"\n")[0])

    def _more(self):
        data = os.read(self._status, 64)
        if not data:
            raise OSError("the fork server has ended")
        return data

    def _try_wait(self, wait_flags):
        """Return the process id and its wait status; the id is 0 while it runs and it need not be waited for."""
        while self._said.count(b"\n") < 2:
            os.set_blocking(self._status, not wait_flags & os.WNOHANG)
            try:
                self._said += self._more()
            except BlockingIOError:
                return 0, 0
        return self.pid, int(self._said.split(b"\n")[1])

    def _internal_poll(self, _deadstate=None, **_):
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                process, status = self._try_wait(os.WNOHANG)
                if process:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode

    def _handle_exitstatus(self, sts, *more):
        super()._handle_exitstatus(sts, *more)
        os.close(self._status)


def variables_of(command, environment):
    """Return the variables that decide what interpreter a command gets, and what it imports, as a key."""
    names = (*INTERPRETER, *PLUGINS) if command == ("pytest",) else INTERPRETER
    return tuple(sorted(item for item in environment.items() if item[0].startswith(names)))


def environment_with(variables):
    """Return this process's environment with these variables in the place of its own ones of these kinds."""
    names = (*INTERPRETER, *PLUGINS)
    others = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    return {**others, **dict(variables)}


@functools.cache
def server_of(command, options, variables):
    """Start the server of a command, and return the socket that takes requests.

    Args:
        command: what `served` returned.
        options: the options of the interpreter.
        variables: the variables of the interpreter.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    modules = modules_of(command, variables)
    process = subprocess.Popen(
        [sys.executable, *options, SERVER, str(theirs.fileno()), *modules],
        env=environment_with(variables),
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    theirs.close()
    atexit.register(end, process, ours)
    return ours


def end(process, requests):
    """End a server: it ends by itself as soon as nobody can ask it for anything."""
    requests.close()
    process.wait()


@functools.cache
def modules_of(command, variables):
    """Return the names of the modules that a command imports before it runs a program, in order.

    The first worker of pytest-xdist that asks finds them out, and keeps them for all others.
    """
    key = (command, [item for item in variables if item[0] != "PYTHONHASHSEED"])
    kept = kept_in and os.path.join(kept_in, hashlib.sha256(marshal.dumps(key)).hexdigest())
    if kept and os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            return tuple(file.read().split())
    names = find_modules(command, variables)
    if kept:
        os.makedirs(kept_in, exist_ok=True)
        written = f"{kept}.{os.getpid()}"
        with open(written, "w", encoding="utf-8") as file:
            file.write(" ".join(names))
        os.replace(written, kept)
    return names


def find_modules(command, variables):
    """Find out by a small use of a command what it imports before it runs a program."""
    is_woven = command[-1] == BOUNDARY
    words = command[:-1] if is_woven else command
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PROGRAM.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text + WOVEN if is_woven and name == "autochron.toml" else text)
        environment = {**environment_with(variables), "PYTHONHASHSEED": "1"}
        run = functools.partial(subprocess.run, cwd=folder, env=environment, capture_output=True, text=True)
        if words[0] == "autochron":  # for a trace, and for all that only a first run imports
            run([sys.executable, "-m", "autochron", "run", *WARM_UP["autochron", "run"]], check=True)
        lines = run([sys.executable, "-X", "importtime", "-m", *words, *WARM_UP[words]]).stderr.splitlines()
    names = [line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")][1:]
    names = names[: names.index(FIRST)] if FIRST in names else names
    if words == ("pytest",):  # which finds its plugins itself, and compiles them with its own assertions
        own = {"_pytest", "pytest", "pluggy", "iniconfig", "packaging", "autochron", *sys.stdlib_module_names}
        names = [name for name in names if name.partition(".")[0] in own]
        names = [name for name in names if not name.startswith("autochron.pytest_plugin")]
    return tuple(name for name in names if name != f"{words[0]}.__main__")
