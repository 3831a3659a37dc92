"""Run a program as Python itself would: `__main__`, `sys.argv`, `sys.path`, exit status and tracebacks.

`__main__` is a fresh module in `sys.modules`, so that pickling, spawn and `if __name__ == "__main__"` work.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Callable
from types import CodeType, ModuleType, TracebackType
from typing import Any

from autochron.errors import UsageError
from autochron.model import Command

Weave = Callable[[str, str | None, CodeType], CodeType]


class Program:
    """A program that can be run once.

    Attributes:
        command: what a trace keeps of it.
        path: the file that its `__main__` comes from, where that is known before it is loaded.
        aliases: other names of the module that runs as `__main__`.
    """

    def __init__(self, command: Command) -> None:
        self.command = command
        self.path: str | None = None
        self.aliases: tuple[str, ...] = ()
        if command.mode == "script":
            self._find_script()
        elif command.mode == "console":
            self._find_console_script()

    def run(self, weave: Weave) -> int:
        """Run it to its end, and give its exit status. A traceback shows the program's frames only."""
        try:
            self._execute(weave)
        except SystemExit as error:
            return _status_of(error)
        except KeyboardInterrupt as error:
            _show(error)
            return -2
        except BaseException as error:
            _show(error)
            return 1
        return 0

    # --- finding -----------------------------------------------------------------------------------------------------

    def _find_script(self) -> None:
        target = self.command.target
        if os.path.isdir(target) or target.endswith((".zip", ".pyz")):
            self.path = os.path.join(os.path.abspath(target), "__main__.py")
            return
        if not os.path.isfile(target):
            raise UsageError(
                f"there is no program {target} in {os.getcwd()}; give a script, -m MODULE, or -- CONSOLE-SCRIPT"
            )
        self.path = os.path.abspath(target)
        self.aliases = (os.path.splitext(os.path.basename(target))[0],)

    def _find_console_script(self) -> None:
        target = self.command.target
        beside = os.path.join(os.path.dirname(sys.executable), target)
        found = beside if os.path.isfile(beside) and os.sep not in target else _which(target)
        if found is None:
            raise UsageError(
                f"there is no command {target}; a console script stands beside {sys.executable} or on PATH"
            )
        self.path = found

    # --- running -----------------------------------------------------------------------------------------------------

    def _execute(self, weave: Weave) -> None:
        command = self.command
        if command.mode == "module":
            sys.argv = ["-m", *command.arguments]
            _replace_path(os.getcwd())
            _run_as_main(command.target, alter_argv=True)
        elif command.mode == "script" and self.path is not None and not self.aliases:
            sys.argv = [command.target, *command.arguments]
            _replace_path(os.path.abspath(command.target))
            _run_as_main("__main__", alter_argv=False)
        else:
            self._execute_file(weave)

    def _execute_file(self, weave: Weave) -> None:
        path = self.path
        assert path is not None  # noqa: S101 - found when it was made
        shown = self.command.target if self.command.mode == "script" else path
        sys.argv = [shown, *self.command.arguments]
        _replace_path(os.path.dirname(os.path.realpath(path)))
        with open(path, "rb") as file:
            source = file.read()
        name = path
        module = _main_module()
        space = vars(module)
        space["__file__"] = name
        space["__cached__"] = None
        space["__loader__"] = importlib.machinery.SourceFileLoader("__main__", name)
        code = compile(source, name, "exec", dont_inherit=True)
        exec(weave("__main__", name, code), space)  # noqa: S102 - to run a program is what this is for


def _run_as_main(name: str, *, alter_argv: bool) -> None:
    """Run a module, a folder or an archive by what Python itself runs it by, so that tracebacks are the same."""
    import runpy  # lazy: scripts don't need it

    _main_module()
    runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]  # noqa: SLF001


def _main_module() -> ModuleType:
    """Make the module that the program runs as."""
    module = ModuleType("__main__")
    space = vars(module)
    space["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = module
    return module


def _replace_path(first: str) -> None:
    """Put the program's folder where `python -m autochron` has put the working folder, or where a script's folder is."""
    if getattr(sys.flags, "safe_path", False):
        return
    sys.path[0] = first


def _which(name: str) -> str | None:
    if os.sep in name:
        return os.path.abspath(name) if os.path.isfile(name) else None
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return None


def _status_of(error: SystemExit) -> int:
    """Give the status that Python would exit with, and print what it would print."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    sys.stderr.write(f"{code}\n")
    return 1


def _show(error: BaseException) -> None:
    """Show an uncaught exception as Python does, without our own frames."""
    traceback = _outside(error.__traceback__)
    error.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        pass
    sys.excepthook(type(error), error, traceback)


_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _outside(traceback: TracebackType | None) -> TracebackType | None:
    """Drop what stands before the program's first frame."""
    found = traceback
    while found is not None:
        file = found.tb_frame.f_code.co_filename
        if not file.startswith(_HERE):
            return found
        found = found.tb_next
    return None


def end_process(status: int) -> Any:
    """End the process with a status; negative ones are signals, which Python would die of."""
    if status == -2:
        import signal  # lazy: hardly any program ends so

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return status
