"""A server that has imported what a command imports, and forks a process for each use of the command.

    python fork_server_main.py DESCRIPTOR MODULE ...

A request comes through the Unix socket DESCRIPTOR: the words after `python -m`, the folder and the environment, with four
descriptors: the standard streams and a pipe. The process id is written to the pipe at once, and the wait status at the end.

The process is as Python would have started it: of this file nothing stays in `sys.modules` or in `__main__`. So this file
imports only what the interpreter or the command itself has imported, and `_socket`.
"""

import _socket
import contextlib
import importlib
import io
import marshal
import os
import runpy
import signal
import sys
import threading

LARGEST = 1 << 20
"""Bytes of the largest request."""


def fast_import(modules):
    """Return the context in which `run` and `replay` import their modules, if these are theirs."""
    name = "autochron.cli.fast_import"
    return importlib.import_module(name).FastImport() if name in modules else contextlib.nullcontext()


def serve(number):
    """Answer requests until the client closes its end; return the request in each process that was forked for one."""
    requests = _socket.socket(fileno=number)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the parents of the forked processes are reaped at once
    while True:
        data, ancillary, _, _ = requests.recvmsg(LARGEST, _socket.CMSG_SPACE(4 * 4))
        if not data:
            os._exit(0)
        packed = ancillary[0][2]
        descriptors = [int.from_bytes(packed[at : at + 4], sys.byteorder) for at in range(0, len(packed), 4)]
        if not os.fork():
            requests.detach()
            start(*descriptors)
            return marshal.loads(data)
        for descriptor in descriptors:
            os.close(descriptor)


def start(stdin, stdout, stderr, status):
    """Fork the process; return in it. Its parent waits for it and writes how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    process = os.fork()
    if process:
        for descriptor in (0, 1, 2, stdin, stdout, stderr):
            os.close(descriptor)
        os.write(status, b"%d\n" % process)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C goes to the whole group
        os.write(status, b"%d\n" % os.waitpid(process, 0)[1])
        os._exit(0)
    for number, descriptor in enumerate((stdin, stdout, stderr)):
        os.dup2(descriptor, number)
    os.closerange(3, 1 << 16)


def open_streams():
    """Open the standard streams as the interpreter does at its start."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        mode = "w" if number else "r"
        buffer = open(number, mode + "b", closefd=False)
        buffer.raw.name = f"<{name}>"
        lines = number == 2 or buffer.raw.isatty()
        stream = io.TextIOWrapper(buffer, old.encoding, old.errors, newline="\n", line_buffering=lines)
        stream.mode = mode
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def prepare(words, folder, environment):
    """Make this process that of `python -m WORD ...` in a folder, and return the name of the module to run."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if not sys.flags.safe_path:
        sys.path[0] = folder
    sys.argv = ["-m", *words[1:]]
    sys.orig_argv = [sys.executable, *["-P"] * sys.flags.safe_path, "-m", *words]
    open_streams()
    threading.main_thread()._set_native_id()  # a fork leaves its parent's
    space = vars(sys.modules["__main__"])
    keep = {name: space[name] for name in ("__name__", "__loader__", "__builtins__")}
    space.clear()
    space.update(keep, __doc__=None, __package__=None, __spec__=None)
    return words[0]


if __name__ == "__main__":
    sys.path.insert(0, os.environ["PYTHONPATH"])
    with fast_import(sys.argv[2:]):
        for module in sys.argv[2:]:
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
    del sys.path[0]
    runpy._run_module_as_main(prepare(*serve(int(sys.argv[1]))))
