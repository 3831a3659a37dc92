"""Trials of one incident, each in a process of its own: what a method of testing says of a variant of the tool.

    python -m incidents.trial FOLDER < trials.json

It reads a list of `{"method": …, "variant": …, "times": …}` and writes a line of JSON for each. The agent's libraries are
imported once, and each trial is a fork; with `times` it is made as often in there, and the time is that of one.

Methods: `cut-point` replays with the tool live and the models that hear of it served, `model` with those live, too,
`full-stub` serves everything, `mocks` runs the test of hand-written mocks. Variants: `unguarded`, `guarded`, `benign`, and
`reworded-1` to `reworded-5`, the guarded tool with an answer that says the same otherwise.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, json, structs

import autochron
from autochron.errors import AutochronError

Answer: TypeAlias = Mapping[str, Any]


class Result(Struct, frozen=True):
    """What came of one trial."""

    method: str
    variant: str
    passed: bool
    why: str
    """What the test said where it failed."""
    live: tuple[str, ...] = ()
    """The crossings that ran."""
    divergences: tuple[str, ...] = ()
    """The errors among the divergences."""
    output: str = ""
    seconds: float = 0.0
    """What one trial took, from the load of the trace to the last check."""


def _worded(change: Callable[[str], str]) -> Callable[[Answer], Answer]:
    return lambda answer: {
        key: change(value) if key == "reason" and isinstance(value, str) else value
        for key, value in answer.items()
    }


REWORDINGS: tuple[Callable[[Answer], Answer], ...] = (
    _worded(lambda _: "policy check failed"),
    lambda answer: {**answer, "audit_id": "audit-x", "latency_ms": 5},
    lambda answer: dict(reversed(list(answer.items()))),
    _worded(str.upper),
    lambda answer: {**answer, "meta": {"trace": "abc", "region": "eu"}},
)
"""The paper's: other words, more fields, another order, capitals, something nested."""

VARIANTS = ("unguarded", "guarded", "benign", *(f"reworded-{number}" for number in range(1, 6)))


def tool(variant: str, name: str) -> Callable[..., Any]:
    """Give a variant of a tool; the folder is on the path."""
    if variant == "unguarded":
        return getattr(importlib.import_module("tools"), name)  # type: ignore[no-any-return]
    if variant == "benign":
        return getattr(importlib.import_module("benign"), name)  # type: ignore[no-any-return]
    guarded = getattr(importlib.import_module("guarded"), name)
    if variant == "guarded":
        return guarded  # type: ignore[no-any-return]
    return _reworded(guarded, REWORDINGS[int(variant.removeprefix("reworded-")) - 1])


def _reworded(guarded: Callable[..., Any], change: Callable[[Answer], Answer]) -> Callable[..., Any]:
    """Give a tool whose refusals say the same otherwise."""

    def changed(answer: Any) -> Any:
        return change(answer) if isinstance(answer, Mapping) and answer.get("blocked") else answer

    if inspect.iscoroutinefunction(guarded):

        @functools.wraps(guarded)
        async def waited(*args: Any, **kwargs: Any) -> Any:
            return changed(await guarded(*args, **kwargs))

        return waited

    @functools.wraps(guarded)
    def called(*args: Any, **kwargs: Any) -> Any:
        return changed(guarded(*args, **kwargs))

    return called


def run(method: str, variant: str, target: str, live: Iterable[str], times: int = 1) -> Result:
    """Try one variant in this process, which has the folder as its working folder and on its path."""
    name = target.rpartition(":")[2]
    taken = []
    output, result = io.StringIO(), Result(method, variant, passed=False, why="was not tried")
    for _ in range(times):
        for each in OWN:  # what one trial has done is nothing to the next
            sys.modules.pop(each, None)
        importlib.import_module("agent")
        output = io.StringIO()
        began = time.perf_counter()
        with redirect_stdout(output):
            result = _mocked(variant, name) if method == "mocks" else _replayed(method, variant, target, live)
        taken.append(time.perf_counter() - began)
    return structs.replace(result, output=output.getvalue(), seconds=statistics.median(taken))


OWN = ("agent", "tools", "guarded", "benign", "test_incident", "test_mocks")
"""The modules of an incident."""


def _mocked(variant: str, name: str) -> Result:
    tools = importlib.import_module("tools")
    setattr(tools, name, tool(variant, name))
    tests = importlib.import_module("test_mocks")
    for each, test in vars(tests).items():
        if each.startswith("test_"):
            try:
                test()
            except Exception as error:
                return Result("mocks", variant, passed=False, why=_said(error))
    return Result("mocks", variant, passed=True, why="")


def _replayed(method: str, variant: str, target: str, live: Iterable[str]) -> Result:
    name = target.rpartition(":")[2]
    chosen = {"full-stub": (), "cut-point": ("kind:tool",), "model": tuple(live)}[method]
    swap = {} if variant == "unguarded" else {target: tool(variant, name)}
    why = ""
    replay: Any = None
    try:
        with autochron.replay("trace.jsonl", live=chosen, swap=swap if chosen else None) as replay:
            importlib.import_module("agent").main()
            if chosen:
                importlib.import_module("test_incident").check(replay)
    except (AssertionError, AutochronError) as error:
        why = _said(error)
    except Exception as error:  # a check that breaks has not passed, and is told apart from one that fails
        why = f"broke: {_said(error)}"
    ran = () if replay is None else tuple(each.address for each in replay.only(live=True))
    divergences = () if replay is None else replay.divergences
    errors = tuple(str(each.message) for each in divergences if each.severity == "error")
    return Result(method, variant, passed=not why, why=why, live=ran, divergences=errors)


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def forked(method: str, variant: str, target: str, live: Iterable[str], times: int = 1) -> Result:
    """Try one variant in a fork of this process."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            os.close(reading)
            result = run(method, variant, target, live, times)
            with open(writing, "wb") as pipe:
                pipe.write(json.encode(result))
            status = 0
        except BaseException as error:
            sys.stderr.write(f"incidents.trial: {method} of {variant}: {_said(error)}\n")
            sys.stderr.flush()
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(process, 0)
    if not said:
        return Result(method, variant, passed=False, why="the process died")
    return json.decode(said, type=Result)


def main(words: list[str]) -> int:
    """Try what standard input asks for."""
    from incidents.suite import IncidentError, load  # lazy: the folder's own modules come first on the path

    try:
        incident = load(Path(words[0]).resolve())
    except IncidentError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    asked = json.decode(sys.stdin.buffer.read())
    os.chdir(incident.folder)
    sys.path.insert(0, str(incident.folder))
    sys.argv = ["agent.py"]
    with autochron.replay("trace.jsonl", check=False):  # what the agent imports is woven here, for all forks
        importlib.import_module("agent")
    for each in asked:
        result = forked(each["method"], each["variant"], incident.tool, incident.live, each.get("times", 1))
        sys.stdout.write(json.encode(result).decode() + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
