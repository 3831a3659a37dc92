"""Reach code that does not come through a loader's `get_code`, or say that it was not reached.

Some tools compile a file and run it themselves. What gives them the code, or runs it, is a function of theirs by a known
name; it is replaced in their module. Any other code of the project's that `exec` is handed is in the ledger, where rules
would have fitted it.

Rejected: to replace the builtin `exec`, whose default namespaces are those of its caller's frame.
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

_GIVING: dict[str, tuple[tuple[str, ...], str | None]] = {
    "runpy": (("_get_code_from_file",), None),
    "coverage.execfile": (("make_code_from_py", "make_code_from_pyc"), "__main__"),
}
"""Modules with functions that give the code of a file, their last argument; and what it runs as, None for its own name."""

_RUNNING = frozenset({"_pytest.assertion.rewrite"})
"""Modules that rewrite modules and `exec` them."""

RUNNERS = frozenset({*_GIVING, *_RUNNING})
"""All of them."""

_BETWEEN = "<frozen importlib._bootstrap_external>"
"""What our frame says for a file: pytest and Python take it out of tracebacks, as they do with what imports."""


class Runners:
    """What weaves the code that runners are given, by one hook."""

    def __init__(self, hook: Hook, planner: RulePlanner) -> None:
        self._hook = hook
        self._planner = planner
        self._held: set[int] = set()
        self._undo: list[Callable[[], None]] = []

    def hold(self) -> None:
        """Change those that are imported by now."""
        import runpy  # noqa: F401 - lazy: frozen, so nothing tells when the program imports it

        for name in RUNNERS:
            module = sys.modules.get(name)
            if module is None or id(module) in self._held:
                continue
            self._held.add(id(module))
            if name in _RUNNING:
                self._replace(module, "exec", self._executing())
                continue
            functions, runs_as = _GIVING[name]
            for function in functions:
                original = getattr(module, function, None)
                if original is not None:
                    self._replace(module, function, self._giving(original, runs_as))

    def uninstall(self) -> None:
        """Put everything back."""
        self._held.clear()
        while self._undo:
            self._undo.pop()()

    def note(self, code: Any) -> None:
        """Hear of code that is about to be run by `exec`; what no weaving came to see is noted."""
        if type(code) is not CodeType or code.co_name != "<module>":
            return
        file = code.co_filename
        if self._hook.passed.get(file) is False or not self._planner.project.owns(file):
            return
        if has_woven(code) or not os.path.isfile(file):
            return
        self._hook.passed[file] = False
        name = module_names(os.path.abspath(file))[0]
        fits = self._planner.fits(name, file, code)
        if fits:
            reason = (
                f"its code was run by `exec`, which weaving does not reach, and rules fit {fits} of its places; import it, "
                "or run it by runpy.run_path"
            )
            self._planner.ledger.refuse(name, reason, "exec")

    def _giving(self, original: Any, runs_as: str | None) -> Any:
        def code_of_file(*arguments: Any) -> Any:
            result = original(*arguments)
            # Before 3.12 runpy gives the file's name as well.
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
        hook, planner = self._hook, self._planner

        def execute(code: Any, space: dict[str, Any], *rest: Any) -> None:
            name, file = space.get("__name__"), space.get("__file__")
            if type(code) is not CodeType or not isinstance(name, str):
                exec(code, space, *rest)  # noqa: S102 - as was asked for
                return
            exec(hook.weave(name, file, code, keeps=False), space, *rest)  # noqa: S102 - as was asked for
            module = sys.modules.get(name)
            if module is not None and planner.concerns(name, file):
                planner.executed(module)

        return execute

    def _replace(self, module: ModuleType, name: str, replacement: Any) -> None:
        space = vars(module)
        had, original = name in space, space.get(name)
        replacement.__code__ = replacement.__code__.replace(co_filename=_BETWEEN)
        space[name] = replacement

        def undo() -> None:
            if space.get(name) is not replacement:
                return
            if had:
                space[name] = original
            else:
                del space[name]  # the builtin again

        self._undo.append(undo)
