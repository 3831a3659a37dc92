"""Reach code that does not come through a loader's `get_code`, or note that it was not reached.

Some tools compile a file and run it themselves. A known function of theirs returns the code, or runs it. That function
is replaced in the tool's module. If other code of the project is run by `exec`, and rules would fit it, then the
ledger notes it.

Rejected: to replace the builtin `exec`. Its default namespaces are those of its caller's frame.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from autochron._runtime.unpatched import os
from autochron.instrument.rule_applier import RulePlanner
from autochron.project import module_names
from autochron.weaving.hook import Hook
from autochron.weaving.weave import has_woven

_LOADING: dict[str, tuple[tuple[str, ...], str | None]] = {
    "runpy": (("_get_code_from_file",), None),
    "coverage.execfile": (("make_code_from_py", "make_code_from_pyc"), "__main__"),
}
"""Modules, each with the functions that return the code of a file, which is their last argument, and with the name of the
module that the code runs as; None for its own name."""

_RUNNING = frozenset({"_pytest.assertion.rewrite"})
"""Modules that rewrite modules and `exec` them."""

RUNNERS = frozenset({*_LOADING, *_RUNNING})
"""All modules with functions that are replaced."""

_BETWEEN = "<frozen importlib._bootstrap_external>"
"""The file name of our frames. pytest and Python remove it from tracebacks, like frames of the import system."""


class Runners:
    """Weaves, by one import hook, the code that runners load or run."""

    def __init__(self, hook: Hook, planner: RulePlanner) -> None:
        self._hook = hook
        self._planner = planner
        self._replaced_in: set[int] = set()
        self._undo: list[Callable[[], None]] = []

    def hold(self) -> None:
        """Replace the functions of those modules that are imported by now."""
        import runpy  # noqa: F401 - lazy: it is frozen, so no hook sees the program import it

        for name in RUNNERS:
            module = sys.modules.get(name)
            if module is None or id(module) in self._replaced_in:
                continue
            self._replaced_in.add(id(module))
            if name in _RUNNING:
                self._replace(module, "exec", self._executing())
                continue
            functions, runs_as = _LOADING[name]
            for function in functions:
                original = getattr(module, function, None)
                if original is not None:
                    self._replace(module, function, self._loading(original, runs_as))

    def uninstall(self) -> None:
        """Restore all functions."""
        self._replaced_in.clear()
        while self._undo:
            self._undo.pop()()

    def note(self, code: Any) -> None:
        """Note code that `exec` is about to run, if it was not woven and rules would fit it."""
        if type(code) is not CodeType or code.co_name != "<module>":
            return
        file = code.co_filename
        if self._hook.seen_files.get(file) is False or not self._planner.project.owns(file):
            return
        if has_woven(code) or not os.path.isfile(file):
            return
        self._hook.seen_files[file] = False
        name = module_names(os.path.abspath(file))[0]
        fits = self._planner.fits(name, file, code)
        if fits:
            reason = (
                f"its code was run by `exec`, which weaving does not reach, and rules fit {fits} of its places; import it, "
                "or run it by runpy.run_path"
            )
            self._planner.ledger.refuse(name, reason, "exec")

    def _loading(self, original: Any, runs_as: str | None) -> Any:
        """Return a function that weaves the code which a function of a runner returns."""

        def code_of_file(*arguments: Any) -> Any:
            result = original(*arguments)
            # Before 3.12 runpy returns the file's name as well.
            code = result[0] if type(result) is tuple else result
            if type(code) is not CodeType:
                return result
            woven = self._weave(runs_as, str(arguments[-1]), code)
            return (woven, *result[1:]) if type(result) is tuple else woven

        return code_of_file

    def _weave(self, runs_as: str | None, path: str, code: CodeType) -> CodeType:
        own = module_names(os.path.abspath(path))[0]
        if runs_as is not None and own != runs_as:
            self._planner.aliases[runs_as] = (own,)
        return self._hook.weave(runs_as or own, code.co_filename, code, keeps=False)

    def _executing(self) -> Any:
        """Return a function that weaves the code of a module, and runs it as `exec` does."""
        hook, planner = self._hook, self._planner

        def execute(code: Any, namespace: dict[str, Any], *arguments: Any) -> None:
            name, file = namespace.get("__name__"), namespace.get("__file__")
            if type(code) is not CodeType or not isinstance(name, str):
                exec(code, namespace, *arguments)  # noqa: S102 - the caller asks for it
                return
            exec(hook.weave(name, file, code, keeps=False), namespace, *arguments)  # noqa: S102 - the caller asks for it
            module = sys.modules.get(name)
            if module is not None and planner.concerns(name, file):
                planner.executed(module)

        return execute

    def _replace(self, module: ModuleType, name: str, replacement: Any) -> None:
        namespace = vars(module)
        is_own, original = name in namespace, namespace.get(name)
        replacement.__code__ = replacement.__code__.replace(co_filename=_BETWEEN)
        namespace[name] = replacement

        def undo() -> None:
            if namespace.get(name) is not replacement:
                return
            if is_own:
                namespace[name] = original
            else:
                del namespace[name]  # so that the name is the builtin again

        self._undo.append(undo)
