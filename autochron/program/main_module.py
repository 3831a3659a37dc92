"""Run a program as Python itself would: `__main__`, `sys.argv`, `sys.path`, exit status and tracebacks.

`__main__` is a fresh module in `sys.modules`, so that pickling, `spawn` and `if __name__ == "__main__"` work.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable
from types import CodeType, ModuleType, TracebackType

from autochron import project
from autochron._runtime import live_objects, unpatched
from autochron._runtime.unpatched import os
from autochron.errors import AutochronError, RuleError, UsageError
from autochron.instrument import code_runners
from autochron.model import Command
from autochron.weaving import hook

Weave = Callable[[str, str | None, CodeType], CodeType]
"""Takes the name, file and code of a module; returns woven code."""


class Program:
    """A program that can be run once.

    Attributes:
        command: the command, unmasked.
        path: the file of its `__main__`, if that is known before it is loaded.
        aliases: other names of the module that runs as `__main__`.
        uncaught: type of the exception that ended it; None for SystemExit.
        error: that exception.
        exit: the SystemExit that ended it, on which Python has to act.
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
        """Run the program to its end; return its exit status.

        A traceback shows frames of the program only.

        Args:
            weave: weaves the code of the program's own file.

        Raises:
            RuleError: two rules contradict each other. It shows only when a module is loaded.
        """
        # All objects so far are ours. Neither the program's garbage collector nor Python at its end has to visit them.
        live_objects.freeze_ours()
        error = self._error(weave)
        if error is None:
            return 0
        if not isinstance(error, SystemExit):
            hook_exit = _show(error)
            if hook_exit is None:
                self.uncaught = type(error).__qualname__
                self.error = error
                return INTERRUPTED if _interrupts(error) else 1
            error = hook_exit
        self.exit = error
        return _status_of(error)

    def let_go(self) -> SystemExit | None:
        """Return the SystemExit that ended the program, and drop the references to it and to the error.

        This object is frozen, so what it refers to would outlive Python's last garbage collection.
        """
        system_exit, self.exit, self.error = self.exit, None, None
        return system_exit

    def _error(self, weave: Weave) -> BaseException | None:
        """Run the program, and return its exception.

        It is returned outside of `except`, so that an exception which is raised next does not get it as its context.
        """
        try:
            self._execute(weave)
        except RuleError:  # an error of the rules and not of the program
            raise
        except BaseException as error:
            return error
        return None

    @property
    def own(self) -> str | None:
        """The file beside which the user's own code and the rules are; None if that is the working folder.

        That of a console script is not: it belongs to a library, and is in the environment's folder of commands.
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
        path = find_command(target)
        if path is None:
            raise UsageError(
                f"there is no command {target}; a console script stands beside {sys.executable} or on PATH"
            )
        self.path = path

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
        assert path is not None  # noqa: S101 - `__init__` has found it
        shown = self.command.target if self.command.mode == "script" else path
        sys.argv = [shown, *self.command.arguments]
        _replace_path(os.path.dirname(os.path.realpath(path)))
        source = project.OVERLAYS.get(os.path.realpath(path)) if project.OVERLAYS else None
        if source is None:
            with open(path, "rb") as file:
                source = file.read()
        name = os.path.join(os.getcwd(), shown)  # as Python does: absolute, but not normalized
        module = _main_module()
        namespace = vars(module)
        namespace["__file__"] = name
        if sys.version_info < (3, 15):
            namespace["__cached__"] = None
        namespace["__loader__"] = importlib.machinery.SourceFileLoader("__main__", name)
        code = compile(source, name, "exec", dont_inherit=True)
        try:
            exec(weave("__main__", name, code), namespace)  # noqa: S102 - to run a program is what this is for
        finally:
            _flush()


def _is_folder_or_archive(path: str) -> bool:
    """Return whether modules can be imported from a path. Asks the same import hooks as Python."""
    for importer in sys.path_hooks:
        try:
            importer(path)
        except ImportError:
            continue
        return True
    return False


def _run_as_main(name: str, *, alter_argv: bool) -> None:
    """Run a module, a folder or an archive by the function that Python itself uses, so that tracebacks are the same."""
    import runpy  # lazy: scripts don't need it

    _main_module()
    runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]  # noqa: SLF001


def _main_module() -> ModuleType:
    """Make the module that the program runs as, and put it into `sys.modules`."""
    module = ModuleType("__main__")
    namespace = vars(module)
    if sys.version_info < (3, 14):  # since then they are made when they are asked for
        namespace["__annotations__"] = {}
    namespace["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = module
    return module


def _replace_path(first: str) -> None:
    """Put the program's folder in the place in `sys.path` where Python has put that of autochron."""
    if getattr(sys.flags, "safe_path", False):
        return
    sys.path[0] = first


def find_command(name: str) -> str | None:
    """Return the path of a console script: beside the interpreter, or on PATH; None if there is none."""
    beside = os.path.join(os.path.dirname(sys.executable), name)
    return beside if os.path.isfile(beside) and os.sep not in name else _which(name)


def _which(name: str) -> str | None:
    if os.sep in name:
        return os.path.abspath(name) if os.path.isfile(name) else None
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return None


INTERRUPTED = -2
"""Status of a program that SIGINT ended. A negative status is a signal."""


def _interrupts(error: BaseException) -> bool:
    """Return whether Python ends as by SIGINT for an uncaught exception: since 3.14 also for one of a derived class."""
    return (
        isinstance(error, KeyboardInterrupt)
        if sys.version_info >= (3, 14)
        else type(error) is KeyboardInterrupt
    )


def _status_of(error: SystemExit) -> int:
    """Return the exit status that Python gives the process."""
    code = error.code
    if isinstance(code, int):
        return code & 255 if -sys.maxsize <= code <= sys.maxsize else 255
    return 0 if code is None else 1


def _show(error: BaseException) -> SystemExit | None:
    """Show an uncaught exception as Python does, without our own frames.

    Returns:
        The SystemExit by which the program's `sys.excepthook` ended; None if it did not.
    """
    traceback = _without_our_frames(error.__traceback__)
    if isinstance(error, AutochronError):
        _cut(traceback)
    error.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    if not hasattr(sys, "excepthook"):
        _write_error("sys.excepthook is missing\n")
        sys.__excepthook__(type(error), error, traceback)
        return None
    hook_error = _hook_error(error, traceback)
    if hook_error is None or isinstance(hook_error, SystemExit):
        return hook_error
    _write_error("Error in sys.excepthook:\n")
    sys.__excepthook__(type(hook_error), hook_error, _without_our_frames(hook_error.__traceback__))
    _write_error("\nOriginal exception was:\n")
    sys.__excepthook__(type(error), error, traceback)
    return None


def _flush() -> None:
    """Flush standard output, as Python does after a script and before it shows an exception."""
    try:
        sys.stdout.flush()
    except Exception:  # noqa: S110 - Python ignores it, too
        pass


def _hook_error(error: BaseException, traceback: TracebackType | None) -> BaseException | None:
    """Call the program's `sys.excepthook`; return the exception that it raised."""
    try:
        sys.excepthook(type(error), error, traceback)
    except BaseException as hook_error:
        hook_error.__traceback__ = _without_our_frames(hook_error.__traceback__)
        return hook_error
    return None


def _write_error(text: str) -> None:
    try:
        sys.stderr.write(text)
    except Exception:  # noqa: S110 - there is nowhere to report it
        pass


def _without_our_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Remove our frames before the program's first frame, and those between frames of the program."""
    while traceback is not None and _module(traceback).startswith("autochron."):
        traceback = traceback.tb_next
    entry = traceback
    while entry is not None:
        while entry.tb_next is not None and _module(entry.tb_next) in _BETWEEN:
            entry.tb_next = entry.tb_next.tb_next
        entry = entry.tb_next
    return traceback


_BETWEEN = {hook.__name__, code_runners.__name__}
"""Modules of ours with frames between frames of the program: they run the code of modules."""


def _cut(traceback: TracebackType | None) -> None:
    """Remove the frames of an error of ours after the last frame of the program."""
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
    """Print what Python prints if the code of a SystemExit is no status."""
    if error is not None and error.code is not None and not isinstance(error.code, int):
        _write_error(f"{error.code}\n")


def end_with(status: int) -> None:
    """End the process with another status than the program's own.

    To be called after all that Python does at exit. Only the standard streams are flushed.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
    unpatched.immediate_exit(status)


def end_process(status: int) -> None:
    """End the process by SIGINT if that ended the program, as Python does."""
    if status == INTERRUPTED:
        import signal  # lazy: hardly any program ends so

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
