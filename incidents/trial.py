"""Trials of one incident, each in a process of its own: what a method of testing says of a variant of the tool.

    python -m incidents.trial FOLDER

It reads a `Job` a line, and writes a `Result` a line, both as JSON. Each trial is a fork; what one has imported is there for
the next.

Methods: `cut-point` replays with the tool live and the models that hear of it served, and `predicate.py` judges the world;
`model` is that with those models live, too, `twin` that of a run which must still go through. `full-stub` serves
everything, `mocks` runs the test of hand-written mocks. Variants: `unguarded`, `guarded`, `benign`, and
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
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import DecodeError, Struct, json, structs

import autochron
from autochron.errors import AutochronError, DivergenceError, RuleError, UnsafeWorldError

Answer: TypeAlias = Mapping[str, Any]
Verdict: TypeAlias = Literal["passes", "fails", "breaks"]
"""A test that can't be run to its check `breaks`: it has found nothing."""


class Job(Struct, frozen=True):
    """One trial that is asked for."""

    method: str
    variant: str
    times: int = 1
    """How often it is made in its fork; the time is that of one."""
    environment: dict[str, str] = {}


class Result(Struct, frozen=True):
    """What came of one trial."""

    method: str
    variant: str
    verdict: Verdict
    why: str = ""
    """What the test said where it didn't pass."""
    live: tuple[str, ...] = ()
    """The crossings that ran."""
    divergences: tuple[str, ...] = ()
    """The errors among the divergences."""
    reached: tuple[str, ...] = ()
    """What the process connected to, or looked for by name, as Python's own audit tells; autochron is not asked."""
    output: str = ""
    seconds: float = 0.0
    """What one trial took of the processor's time, from the load of the trace to the last check."""

    @property
    def passed(self) -> bool:
        return self.verdict == "passes"

    @property
    def failed(self) -> bool:
        return self.verdict == "fails"


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
    """Return a variant of a tool; the folder is on the path."""
    if variant == "unguarded":
        return getattr(importlib.import_module("tools"), name)  # type: ignore[no-any-return]
    if variant == "benign":
        return getattr(importlib.import_module("benign"), name)  # type: ignore[no-any-return]
    guarded = getattr(importlib.import_module("guarded"), name)
    if variant == "guarded":
        return guarded  # type: ignore[no-any-return]
    return _reworded(guarded, REWORDINGS[int(variant.removeprefix("reworded-")) - 1])


def _reworded(guarded: Callable[..., Any], change: Callable[[Answer], Answer]) -> Callable[..., Any]:
    """Return a tool whose refusals say the same otherwise."""

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


_JUDGED = ("cut-point", "model")
"""The methods that replay the incident and judge the world."""

OWN = ("agent", "tools", "guarded", "benign", "test_incident", "test_mocks")
"""The modules of an incident, which each trial imports anew: what one has done is nothing to the next."""


def run(job: Job, target: str, live: Iterable[str]) -> Result:
    """Make a trial in this process, which has the folder as its working folder and on its path."""
    os.environ.update(job.environment)
    reached = connections()
    taken, output = [], io.StringIO()
    result = Result(job.method, job.variant, "breaks", "it was not tried")
    for _ in range(job.times):
        for each in OWN:
            sys.modules.pop(each, None)
        importlib.import_module("agent")
        output = io.StringIO()
        began = time.process_time()
        with redirect_stdout(output):
            result = _mocked(job, target) if job.method == "mocks" else _replayed(job, target, live)
        taken.append(time.process_time() - began)
    return structs.replace(
        result, reached=tuple(reached), output=output.getvalue(), seconds=statistics.median(taken)
    )


_CONNECTING = frozenset(
    {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname"}
)


def connections() -> list[str]:
    """Return a list that grows with each connection of this process; it can't be ended."""
    found: list[str] = []

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CONNECTING:
            found.append(f"{event} {arguments[-1] if event == 'socket.connect' else arguments}")

    sys.addaudithook(note)
    return found


def _mocked(job: Job, target: str) -> Result:
    name = target.rpartition(":")[2]
    setattr(importlib.import_module("tools"), name, tool(job.variant, name))
    tests = [
        test for each, test in vars(importlib.import_module("test_mocks")).items() if each.startswith("test_")
    ]
    try:
        for test in tests:
            test()
    except Exception as error:
        return Result(job.method, job.variant, _verdict(error), _said(error))
    return Result(job.method, job.variant, "passes" if tests else "breaks", "" if tests else "it has no test")


def _replayed(job: Job, target: str, live: Iterable[str]) -> Result:
    chosen, swap = _asked(job, target, live)
    verdict: Verdict = "passes"
    why = ""
    replay: Any = None
    try:
        trace = "twin.jsonl" if job.method == "twin" else "trace.jsonl"
        predicate = "predicate.py" if chosen else None
        refusals = (Exception,) if job.method in _JUDGED else ()
        with autochron.replay(trace, live=chosen, swap=swap, predicate=predicate) as replay:
            with suppress(*refusals):  # a tool may refuse by an exception that ends the agent
                importlib.import_module("agent").main()
            test = importlib.import_module("test_incident")
            if job.method == "twin":
                test.check_twin(replay)
            elif chosen:
                test.check(replay)
    except Exception as error:
        verdict, why = _verdict(error), _said(error)
    ran = () if replay is None else tuple(each.address for each in replay.only(live=True))
    divergences = () if replay is None else replay.divergences
    errors = tuple(str(each.message) for each in divergences if each.severity == "error")
    return Result(job.method, job.variant, verdict, why, live=ran, divergences=errors)


def _asked(
    job: Job, target: str, live: Iterable[str]
) -> tuple[tuple[str, ...], dict[str, Callable[..., Any]] | None]:
    """Return what is live in a trial and what is swapped in."""
    tools = ("kind:tool",)
    chosen = {"full-stub": (), "cut-point": tools, "twin": tools, "model": tuple(live)}[job.method]
    if not chosen or job.variant == "unguarded":
        return chosen, None
    return chosen, {target: tool(job.variant, target.rpartition(":")[2])}


def _verdict(error: Exception) -> Verdict:
    return "fails" if isinstance(error, AssertionError | DivergenceError | UnsafeWorldError) else "breaks"


def _said(error: BaseException) -> str:
    """Return the first line of an error, or the line of code that raised one which says nothing."""
    said = next(iter(str(error).strip().splitlines()), "")
    if isinstance(error, AutochronError) and said:
        return said  # it tells what it is by its slug
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__}: {said or (frames[-1].line if frames else '')}"


class _Forked(Struct, frozen=True):
    """What a fork tells: the result, and which modules it has imported."""

    result: Result
    modules: tuple[str, ...]


def forked(job: Job, target: str, live: Iterable[str]) -> Result:
    """Make a trial in a fork of this process."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            known = set(sys.modules)
            try:
                result = run(job, target, live)
            except BaseException as error:
                result = Result(job.method, job.variant, "breaks", _said(error))
            modules = tuple(each for each in sys.modules if each not in known)
            with open(writing, "wb") as pipe:
                pipe.write(json.encode(_Forked(result, modules)))
        finally:
            os._exit(0)  # nothing of the parent's is to be ended here
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(process, 0)
    if not said:
        return Result(job.method, job.variant, "breaks", "the process died")
    told = json.decode(said, type=_Forked)
    _import(told.modules)
    return told.result


def _weave(job: Job, target: str) -> None:
    """Weave in this process what a trial has woven, which outlives the block: its fork finds it in place."""
    if job.method == "mocks":
        return
    live, swap = _asked(job, target, ("kind:tool",))
    with (
        suppress(Exception),
        autochron.replay("trace.jsonl", live=live, swap=swap, check=False),
    ):  # the trial says it
        importlib.import_module("agent")


def _import(modules: Iterable[str]) -> None:
    """Import what an SDK or a test imports when it is first called, so that not every fork does."""
    for name in modules:
        if name.partition(".")[0] not in OWN:
            with suppress(Exception):  # a module of the fork's own making
                importlib.import_module(name)


def main(words: list[str]) -> int:
    """Try what standard input asks for."""
    from incidents.suite import IncidentError, load  # lazy: the folder's own modules come first on the path

    try:
        if len(words) != 1:
            raise IncidentError("usage: python -m incidents.trial FOLDER < jobs")
        incident = load(Path(words[0]).resolve())
        os.chdir(incident.folder)
        sys.path.insert(0, str(incident.folder))
        sys.argv = ["agent.py"]
        try:
            with autochron.replay(
                "trace.jsonl", check=False
            ):  # what the agent imports is woven here, for all forks
                importlib.import_module("agent")
        except RuleError as error:
            raise IncidentError(str(error)) from error
        except AutochronError as error:
            raise IncidentError(
                f"{error}; record it anew: python -m incidents.record {incident.name}"
            ) from error
        except Exception as error:
            raise IncidentError(f"its agent can't be imported: {_said(error)}") from error
        for line in sys.stdin.buffer:
            job = json.decode(line, type=Job)
            _weave(job, incident.tool)
            result = forked(job, incident.tool, incident.live)
            sys.stdout.write(json.encode(result).decode() + "\n")
            sys.stdout.flush()
    except (IncidentError, DecodeError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
