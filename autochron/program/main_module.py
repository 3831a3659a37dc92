"""Run a program as Python itself would: `__main__`, `sys.argv`, `sys.path`, exit status and tracebacks.

`__main__` is a fresh module in `sys.modules`, so that pickling, spawn and `if __name__ == "__main__"` work.
"""

from __future__ import annotations

import gc
import importlib.machinery
import sys
from collections.abc import Callable
from types import CodeType, ModuleType, TracebackType

from autochron._runtime import std_streams, unpatched
from autochron._runtime.unpatched import os
from autochron.errors import AutochronError, RuleError, UsageError
from autochron.instrument import code_runners
from autochron.model import Command
from autochron.weaving import hook
from autochron.weaving.gate import THROUGH

Weave = Callable[[str, str | None, CodeType], CodeType]


class Program:
    """A program that can be run once.

    Attributes:
        command: what a trace keeps of it.
        path: the file that its `__main__` comes from, where that is known before it is loaded.
        aliases: other names of the module that runs as `__main__`.
        uncaught: the type of what it ended by, where that was no SystemExit.
        error: that itself.
        exit: what it left by, where it left by SystemExit, for Python to act upon.
    """

    def __init__(self, command: Command) -> None:
        self.command = command
        self.path: str | None = None
        self.aliases: tuple[str, ...] = ()
        self.exit: SystemExit | None = None
        self.uncaught: str | None = None
        self.error: BaseException | None = None
        if command.mode == "script":
            self._find_script()
        elif command.mode == "console":
            self._find_console_script()
        else:
            self.aliases = (command.target, f"{command.target}.__main__")

    def run(self, weave: Weave) -> int:
        """Run it to its end, and give its exit status. A traceback shows the program's frames only."""
        # What is there is ours: the program's collector need not go through it, nor does Python as it ends.
        gc.freeze()
        error = self._error(weave)
        if error is None:
            return 0
        if not isinstance(error, SystemExit):
            ended = _show(error)
            if ended is None:
                self.uncaught = type(error).__qualname__
                self.error = error
                return INTERRUPTED if type(error) is KeyboardInterrupt else 1
            error = ended
        self.exit = error
        return _status_of(error)

    def let_go(self) -> SystemExit | None:
        """Return what the program left by, and hold neither that nor its error any more.

        This object is frozen, so what it holds would outlive Python's last collection.
        """
        left, self.exit, self.error = self.exit, None, None
        return left

    def _error(self, weave: Weave) -> BaseException | None:
        """Run it, and give what it raised: outside of `except`, so that what is raised next has no context of ours."""
        try:
            self._execute(weave)
        except RuleError:  # two rules for one place, seen when its module was loaded: ours to tell
            raise
        except BaseException as error:
            return error
        return None

    @property
    def own(self) -> str | None:
        """The file beside which the user's own code and the rules lie; None where that is the working folder.

        A console script is a library's: it stands in the environment's folder of commands.
        """
        return None if self.command.mode == "console" else self.path

    # --- finding -----------------------------------------------------------------------------------------------------

    def _find_script(self) -> None:
        target = self.command.target
        if _is_folder_or_archive(target):
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
            _replace_path(os.path.join(os.getcwd(), command.target))
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
        name = os.path.join(os.getcwd(), shown)  # as Python does: made absolute, and not made plain
        module = _main_module()
        space = vars(module)
        space["__file__"] = name
        space["__cached__"] = None
        space["__loader__"] = importlib.machinery.SourceFileLoader("__main__", name)
        code = compile(source, name, "exec", dont_inherit=True)
        try:
            exec(weave("__main__", name, code), space)  # noqa: S102 - to run a program is what this is for
        finally:
            _flush()


def _is_folder_or_archive(path: str) -> bool:
    """Ask whom Python asks: what modules can be imported from."""
    for importer in sys.path_hooks:
        try:
            importer(path)
        except ImportError:
            continue
        return True
    return False


def _run_as_main(name: str, *, alter_argv: bool) -> None:
    """Run a module, a folder or an archive by what Python itself runs it by, so that tracebacks are the same."""
    import runpy  # lazy: scripts don't need it

    _main_module()
    runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]  # noqa: SLF001


def _main_module() -> ModuleType:
    """Make the module that the program runs as."""
    module = ModuleType("__main__")
    space = vars(module)
    space["__annotations__"] = {}
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


INTERRUPTED = -2
"""The status of a program that nothing but SIGINT ended; negative ones are signals."""


def _status_of(error: SystemExit) -> int:
    """Return the status that the process will have."""
    code = error.code
    if isinstance(code, int):
        return code & 255 if -sys.maxsize <= code <= sys.maxsize else 255
    return 0 if code is None else 1


def _show(error: BaseException) -> SystemExit | None:
    """Show an uncaught exception as Python does, without our own frames; gives what the program's hook left by."""
    traceback = _outside(error.__traceback__)
    if isinstance(error, AutochronError):
        _cut(traceback)
    error.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    if not hasattr(sys, "excepthook"):
        _say("sys.excepthook is missing\n")
        sys.__excepthook__(type(error), error, traceback)
        return None
    other = _hook_error(error, traceback)
    if other is None or isinstance(other, SystemExit):
        return other
    _say("Error in sys.excepthook:\n")
    sys.__excepthook__(type(other), other, _outside(other.__traceback__))
    _say("\nOriginal exception was:\n")
    sys.__excepthook__(type(error), error, traceback)
    return None


def _flush() -> None:
    """Flush as Python does after a script, and before it shows what went wrong."""
    try:
        sys.stdout.flush()
    except Exception:  # noqa: S110 - Python passes over it, too
        pass


def _hook_error(error: BaseException, traceback: TracebackType | None) -> BaseException | None:
    """Call the program's hook, and give what it raised."""
    try:
        sys.excepthook(type(error), error, traceback)
    except BaseException as other:
        other.__traceback__ = _outside(other.__traceback__)
        return other
    return None


def _say(text: str) -> None:
    try:
        sys.stderr.write(text)
    except Exception:  # noqa: S110 - nobody hears
        pass


def _outside(traceback: TracebackType | None) -> TracebackType | None:
    """Drop what stands before the program's first frame, and what stands between frames of the program's."""
    while traceback is not None and _module(traceback).startswith("autochron."):
        traceback = traceback.tb_next
    above = traceback
    while above is not None:
        while above.tb_next is not None and _module(above.tb_next) in _BETWEEN:
            above.tb_next = above.tb_next.tb_next
        above = above.tb_next
    return traceback


_BETWEEN = THROUGH | {hook.__name__, code_runners.__name__, std_streams.__name__}


def _cut(traceback: TracebackType | None) -> None:
    """Cut off what an error of ours has behind the program's last line."""
    last = entry = traceback
    while entry is not None:
        if not _module(entry).startswith("autochron.") and entry.tb_lineno is not None:
            last = entry
        entry = entry.tb_next
    if last is not None:
        last.tb_next = None


def _module(traceback: TracebackType) -> str:
    return str(traceback.tb_frame.f_globals.get("__name__"))


def say_exit(error: SystemExit | None) -> None:
    """Print what Python prints when a program leaves by something that is no status."""
    if error is not None and error.code is not None and not isinstance(error.code, int):
        _say(f"{error.code}\n")


def end_with(status: int) -> None:
    """End the process with another status than the program's own, at the end of all that Python does for it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
    unpatched.immediate_exit(status)


def end_process(status: int) -> None:
    """End the process as Python would where SIGINT ended the program."""
    if status == INTERRUPTED:
        import signal  # lazy: hardly any program ends so

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
