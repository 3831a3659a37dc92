"""Edge inputs where a test runs the agent in a process of its own, by `replay.run()`: that process tries them.

The server gives the test swaps that name functions of this module, `target_0` and so on, and a request in a file that an
environment variable names. With the first call of a target, the replay looks up its function here. The findings go into a
file that the server reads afterwards. Nothing here imports pytest: the agent's process has not imported it either.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import msgspec
from msgspec import Struct

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.crossing.pausing import paused
from autochron.errors import PlanError
from autochron.instrument.swap import Swap
from autochron.mutate.model import Input, MutationTarget
from autochron.mutate.protocol import EDGE_INPUTS_REQUEST, Knows, ServerTask, TrialReply
from autochron.mutate.server.edge_inputs import EdgeInputs, Explorer
from autochron.weaving.heap import every_function

PREFIX = "target_"
"""How the names of the functions begin that swaps name; the number of the swap follows."""


class RerunSwap(Struct, frozen=True):
    """A swap of a test that is to try edge inputs.

    Attributes:
        old: the function that is replaced, as a swap names it.
        new: its replacement, as a swap names it; empty where it is the function itself.
        root: the folder that paths in both names start from.
        name: the name of the function in the addresses of its calls.
        suffix: is appended to these addresses; it names the test where there are several.
    """

    old: str
    new: str
    root: str
    name: str
    suffix: str = ""


class RerunRequest(Struct, frozen=True):
    """What the agent's process is asked to try.

    Attributes:
        task: the server's task; its targets are what is mutated.
        swaps: the swaps, in the order of their numbers.
        fix: the reply of the fix, which a mutant is compared with; None where the fix itself is tried.
        folder: where the findings are written, in a file for each process.
    """

    task: ServerTask
    swaps: tuple[RerunSwap, ...]
    fix: TrialReply | None
    folder: str


class RerunFindings(Struct, frozen=True):
    """What one process found: as in a `TrialReply`."""

    inputs: tuple[Input, ...]
    outcomes: dict[str, str]
    knows: Knows


_constants: list[Callable[[], Knows]] = []
"""Return the constants that the inputs of each explorer were made of."""

_explorers: dict[str, Explorer] = {}
"""The explorers of this process, by the names of their functions here."""


def __getattr__(name: str) -> Callable[..., Any]:
    """Return the function that a swap of the request names.

    Raises:
        AttributeError: it names none.
        PlanError: the function that is mutated is not loaded.
    """
    if not name.startswith(PREFIX) or EDGE_INPUTS_REQUEST not in os.environ:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _explorers:
        with paused(), open(os.environ[EDGE_INPUTS_REQUEST], "rb") as file:
            request = msgspec.json.decode(file.read(), type=RerunRequest)
            _explorers[name] = _explorer(request, request.swaps[int(name.removeprefix(PREFIX))])
    return _explorers[name].callable()


def _explorer(request: RerunRequest, swap: RerunSwap) -> Explorer:
    """Return the explorer of the function that a swap calls; it writes the findings after each call."""
    function = (
        Swap(swap.old, swap.new, swap.root).function()
        if swap.new
        else _loaded_function(Swap(swap.old, swap.old, swap.root), swap.root)
    )
    inner: Any = function
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    edge_inputs = EdgeInputs([inner, *_other_targets(request.task, inner)], request.task)
    edge_inputs.learn_from(request.fix)
    target = _target_of(request.task, inner)
    explorer = edge_inputs.explorer(function, target, (swap.name, swap.suffix), swap.root)
    _constants.append(edge_inputs.constants)
    explorer.on_explored = lambda: _write(request)
    return explorer


def _other_targets(task: ServerTask, function: FunctionType) -> list[FunctionType]:
    """Return the loaded functions that are targets, each once, without the given one."""
    places = {
        (os.path.realpath(os.path.join(task.folder, target.file)), target.function) for target in task.targets
    }
    found: dict[tuple[str, str], FunctionType] = {}
    for other in every_function():
        place = (os.path.realpath(other.__code__.co_filename), other.__code__.co_qualname)
        if place in places and other.__code__.co_qualname != function.__code__.co_qualname:
            found.setdefault(place, other)
    return [found[place] for place in sorted(found)]


def _loaded_function(swap: Swap, root: str) -> FunctionType:
    """Return the function below its decorators that a swap would replace, as this process has loaded it.

    Raises:
        PlanError: there is none.
    """
    path = os.path.realpath(os.path.join(root, swap.module))
    for function in every_function():
        code = function.__code__
        if code.co_qualname == swap.qualname and os.path.realpath(code.co_filename) == path:
            return function
    raise PlanError(f"{swap.qualname} of {swap.module} is not loaded where the agent calls it")


def _target_of(task: ServerTask, function: FunctionType) -> MutationTarget:
    """Return the target of the task that a function is; one of its own where it is none of them."""
    path = os.path.realpath(function.__code__.co_filename)
    qualname = function.__code__.co_qualname
    for target in task.targets:
        if target.function == qualname and os.path.realpath(os.path.join(task.folder, target.file)) == path:
            return target
    return MutationTarget(os.path.relpath(path, os.path.realpath(task.folder)).replace(os.sep, "/"), qualname)


def _write(request: RerunRequest) -> None:
    """Write what the explorers of this process have found so far."""
    knows: Knows = {}
    for constants in _constants:
        knows |= constants()
    outcomes: dict[str, str] = {}
    inputs: list[Input] = []
    for explorer in _explorers.values():
        outcomes |= explorer.outcomes
        inputs += explorer.inputs
    findings = RerunFindings(tuple(inputs), outcomes, knows if inputs else {})
    path = os.path.join(request.folder, f"{unpatched.getpid()}.json")
    with paused(), open(path, "wb") as file:
        file.write(msgspec.json.encode(findings))
