"""The functions to mutate: which they are, where this process holds them, and the code that a mutant gives to them."""

from __future__ import annotations

import inspect
import sys
import tokenize
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any

import msgspec

from autochron._runtime.unpatched import os
from autochron.diagnostics.incident_check import suspects
from autochron.diagnostics.recorded_sites import parts_of
from autochron.errors import AutochronError, PlanError
from autochron.instrument.swap import Swap
from autochron.mutate.bytecode import FunctionPart
from autochron.mutate.model import MutationTarget
from autochron.mutate.protocol import Job, ServerTask, TrialReply
from autochron.mutate.server.checkpoint import Codes
from autochron.mutate.server.endings import first_line
from autochron.mutate.server.guard_helpers import helpers_of
from autochron.pytest_plugin.sessions import ReplayedTest
from autochron.rules.nearest import hint
from autochron.weaving.heap import every_function
from autochron.weaving.replacing import woven_like


def targets_of(task: ServerTask, tests: Sequence[ReplayedTest]) -> tuple[tuple[MutationTarget, ...], int]:
    """Return the functions to mutate, and how many of them are helpers, which come last.

    These are the targets of the task. If it has none, they are the functions that the tests swap in, and their helpers; if
    the tests swap nothing, they are the live tools of the record, and theirs.

    Args:
        task: the server's task.
        tests: the tests that replay a trace.

    Raises:
        PlanError: a function has no Python code, or all live tools are defined in libraries.
    """
    if task.targets:
        return task.targets, 0
    targets: dict[MutationTarget, None] = {}
    guards: list[FunctionType] = []
    inner: list[FunctionType] = []
    is_own = _ownership(tests)
    for test in tests:
        swaps = test.options.swap or {}
        for old, new in swaps.items():
            function = Swap(old, new, test.root).function()
            layers = [function]
            while hasattr(function, "__wrapped__"):
                function = function.__wrapped__
                layers.append(function)
            code = getattr(function, "__code__", None)
            if code is None:
                raise PlanError(
                    f"{_shown(new)} has no code of Python's that could be mutated; write the guard in Python, or name a"
                    " function of yours with --tool FILE:NAME"
                )
            own = [
                each
                for each in layers
                if isinstance(each, FunctionType) and is_own(each.__code__.co_filename)
            ]
            if own and task.depth:  # a decorator may be the guard, and may never call what it decorates
                code = own[0].__code__
            targets[_target(task.folder, code.co_filename, code.co_qualname)] = None
            guards += own or [each for each in layers[-1:] if isinstance(each, FunctionType)]
            inner += own[1:] if task.depth else []
        record, plan = test.handle.planned()
        for envelope in () if swaps else suspects(record, plan):
            file, qualname, _ = parts_of(envelope.site)
            if file.endswith(".py"):
                path = os.path.join(test.root, file)
                targets[_target(task.folder, path, qualname)] = None
                guards += _functions_of(path, qualname, test.root)
    if tests and not targets:
        raise PlanError(
            "the live tools are defined in a library; name the function of yours to mutate with --tool FILE:NAME"
        )
    named = len(targets)
    for helper in _helpers_of(guards, inner, tests, task.depth):
        code = helper.__code__
        targets[_target(task.folder, code.co_filename, code.co_qualname)] = None
    return tuple(targets), len(targets) - named


def _shown(new: Any) -> str:
    """Return the name of a replacement for a message."""
    return new if isinstance(new, str) else getattr(new, "__qualname__", repr(new))


def _helpers_of(
    guards: Sequence[FunctionType],
    inner: Sequence[FunctionType],
    tests: Sequence[ReplayedTest],
    depth: int,
) -> Iterator[FunctionType]:
    """Yield the helpers of guards; the tools that guards stand before, and what else crossed in a record, are none.

    Args:
        guards: the functions.
        inner: what is below decorators that are guards; helpers as well.
        tests: the tests that replay a trace.
        depth: as for `helpers_of`.
    """
    excluded: set[tuple[str, str]] = set()
    for test in tests:
        for old in test.options.swap or {}:
            with suppress(Exception):  # a module that can't be imported; the test says so
                code = inspect.unwrap(Swap(old, old, test.root).function()).__code__
                excluded.add((code.co_filename, code.co_qualname))
        record, _ = test.handle.planned()
        for envelope in record:
            file, qualname, _ = parts_of(envelope.site)
            excluded.add((os.path.join(test.root, file), qualname))

    for function in inner:
        code = function.__code__
        if (code.co_filename, code.co_qualname) not in excluded:
            yield function
    for guard in guards:
        yield from helpers_of(guard, depth, _ownership(tests), excluded)


def _ownership(tests: Sequence[ReplayedTest]) -> Callable[[str], bool]:
    """Return a function that returns whether a file belongs to a project of the tests."""
    roots = tuple(os.path.join(os.path.realpath(test.root), "") for test in tests)
    libraries = os.path.join(os.path.realpath(sys.prefix), "")

    def is_own(file: str) -> bool:
        path = os.path.realpath(file)
        if not os.path.isfile(path):  # generated code
            return False
        return path.startswith(roots) and not path.startswith(libraries) and "site-packages" not in path

    return is_own


def _functions_of(path: str, qualname: str, root: str) -> list[FunctionType]:
    """Return the function of a file and a qualified name, below its decorators; none where it can't be found so."""
    with suppress(Exception):
        function = inspect.unwrap(Swap(f"{path}:{qualname}", f"{path}:{qualname}", root).function())
        return [function] if isinstance(function, FunctionType) else []
    return []


def _target(folder: str, path: str, qualname: str) -> MutationTarget:
    home = os.path.realpath(folder)
    return MutationTarget(os.path.relpath(os.path.realpath(path), home).replace(os.sep, "/"), qualname)


class TargetFunctions:
    """The functions that have the targets' code, and the parsed text of each target."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._functions: dict[MutationTarget, list[FunctionType]] = {}
        self._parts: dict[MutationTarget, FunctionPart] = {}

    def find(self, target: MutationTarget) -> None:
        """Find the functions that have a target's code.

        Raises:
            PlanError: the target's file does not exist.
        """
        self._functions[target] = list(self._find_functions(target))

    def all(self) -> list[FunctionType]:
        """Return the functions of all targets."""
        return [function for several in self._functions.values() for function in several]

    def target_of(self, function: Callable[..., Any]) -> MutationTarget:
        """Return the target that a function is, below its decorators."""
        code = inspect.unwrap(function).__code__
        path = os.path.realpath(code.co_filename)
        known = (
            target
            for target in self._functions
            if target.function == code.co_qualname and self._path(target) == path
        )
        return next(known, None) or _target(self._folder, path, code.co_qualname)

    def paths(self) -> set[str]:
        """Return the files of the targets, with links resolved."""
        return {self._path(target) for target in self._functions}

    def parse(self) -> None:
        """Parse the targets' files before any fork, so that no trial has to."""
        for target, functions in self._functions.items():
            if functions:
                self._part(target)

    def codes(self, job: Job) -> Codes | TrialReply:
        """Compile a job's text.

        Returns:
            The code of each function that has the target's code, or the reply where there can be none: the text is no
            Python, or the modules must be loaded anew.
        """
        target = job.target
        reply = TrialReply(id=job.id, variant=job.variant)
        if job.rebuilds:
            return msgspec.structs.replace(reply, must_rebuild="it runs when the module is imported")
        if target is None:
            return []
        functions = self._functions.get(target) or ()
        if not functions:
            reason = f"{target.function} of {target.file} is not loaded before the tests run"
            return msgspec.structs.replace(reply, must_rebuild=reason)
        try:
            code = self._part(target).compiled(job.text)
            return [(function, woven_like(function, code)) for function in functions]
        except SyntaxError as error:
            return msgspec.structs.replace(reply, kind="compile", said=f"SyntaxError: {error.msg}")
        except (ValueError, MemoryError, RecursionError) as error:  # raised by the compiler
            return msgspec.structs.replace(reply, kind="compile", said=first_line(error))
        except AutochronError as error:
            return msgspec.structs.replace(reply, must_rebuild=error.message)

    def _part(self, target: MutationTarget) -> FunctionPart:
        if target not in self._parts:
            path = self._functions[target][0].__code__.co_filename
            with tokenize.open(path) as file:
                self._parts[target] = FunctionPart(file.read(), path, target.function)
        return self._parts[target]

    def _path(self, target: MutationTarget) -> str:
        return os.path.realpath(os.path.join(self._folder, target.file))

    def _find_functions(self, target: MutationTarget) -> Iterator[FunctionType]:
        """Yield all functions of this process that have a target's code."""
        path = self._path(target)
        if not os.path.isfile(path):
            files = [name for name in os.listdir(self._folder) if name.endswith(".py")]
            raise PlanError(
                f"there is no file {target.file} in {self._folder}, which was to have"
                f" {target.function}{hint(files, target.file)}"
            )
        outermost = target.function.partition(".<locals>")[0]
        with suppress(PlanError):  # it may have been deleted
            Swap(
                f"{path}:{outermost}", f"{path}:{outermost}", self._folder
            ).function()  # it imports the module
        for function in every_function():
            code = function.__code__
            if code.co_qualname == target.function and os.path.realpath(code.co_filename) == path:
                yield function
