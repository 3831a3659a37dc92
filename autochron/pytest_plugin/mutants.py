"""A process that tries mutants: it collects an incident's tests once, and runs them in a fork for each trial.

    python -m autochron.pytest_plugin.mutants NURSED

It imports what the incident's files import, and forks into a server for each channel. A server reads what it is to do,
then jobs, and writes a reply to each: a line of JSON each (`mutate.protocol`).
"""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.util
import os
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import FunctionType
from typing import Any, BinaryIO

import msgspec
import pytest

from autochron import _originals
from autochron.envelope.redaction import Redactor
from autochron.errors import AutochronError, DivergenceError, PlanError, WeavingError
from autochron.mutate.bytecode import Part
from autochron.mutate.forking import Ended, Limits, flush, forked, has_grown
from autochron.mutate.model import Kind, Target
from autochron.mutate.protocol import Asked, Channel, Job, Nursed, Ready, Reply
from autochron.pytest_plugin import MARKER, _play, _prepared
from autochron.pytest_plugin.marks import asked_of
from autochron.pytest_plugin.outcomes import given_by, recorded_of
from autochron.pytest_plugin.plays import Replayer, play_of
from autochron.pytest_plugin.widening import Widening, widened
from autochron.session import again, overlay
from autochron.session.probing import trust_nobody
from autochron.session.swapping import Swap
from autochron.weaving.heap import every_function
from autochron.weaving.replacing import replace_code

_FIRST, _LEAST, _TIMES = 120.0, 2.0, 10.0
"""Seconds that the fix may take at first, that any trial may, and how many times as long as the fix."""


class Trials:
    """The plugin of pytest that tries mutants in the place of running the tests."""

    def __init__(self, asked: Asked, jobs: BinaryIO | None, writing: int) -> None:
        self._asked = asked
        self._jobs = jobs
        self._writing = writing
        self._fault = ""
        self._items: list[pytest.Item] = []
        self._plays: list[Replayer] = []
        self._swaps: dict[str, str] = {}
        self._functions: dict[Target, list[FunctionType]] = {}
        self._parts: dict[Target, Part] = {}
        self._limits = Limits(asked.timeout or _FIRST, asked.memory)
        self._widening: Widening | None = None
        self._is_served = False

    # --- collecting ------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Install what tests without a trace are to find."""
        for old, new in self._asked.swaps.items():
            try:
                Swap(old, new, self._asked.folder).install()
            except Exception as error:  # of what is imported
                raise pytest.UsageError(f"{new} can't be installed as {old}: {_first_line(error)}") from error

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep why a module could not be collected."""
        if report.failed and not self._fault:
            lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
            why = lines[-1].strip() if lines else "no reason is given"
            self._fault = f"{report.nodeid or 'the tests'} can't be collected: {why}"

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that replay a trace, or those that don't."""
        wants = self._asked.server != "mocks"
        items[:] = [each for each in items if (each.get_closest_marker(MARKER) is not None) is wants]
        if self._asked.server == "stub":
            for each in items:
                _mark(each, live=(), swap=None)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try what is asked for, as long as something is."""
        self._items = session.items
        if session.testsfailed or not self._items:
            return True  # `end` says why
        try:
            ready = self._prepare()
        except AutochronError as error:
            self._fault = str(error)
            return True
        self._is_served = True
        say(self._writing, ready)
        for line in self._jobs or ():
            say(self._writing, self._tried(msgspec.json.decode(line, type=Job)))
        return True

    def end(self, status: int) -> None:
        """Say why nothing could be tried, where that is so."""
        if self._is_served:
            return
        kind = "without a trace" if self._asked.server == "mocks" else f"marked {MARKER}"
        none = f"there is no test {kind} in {', '.join(self._asked.paths)}"
        other = f"pytest ends with status {status} there; run it to see why"
        say(self._writing, Ready(fault=self._fault or (none if status in {0, 5} else other)))

    # --- making ready ----------------------------------------------------------------------------------------------

    def _settle(self) -> tuple[Target, ...]:
        """Weave as the tests will, and find what is to be mutated."""
        if self._asked.server != "mocks":
            self._plays = [_play_of(each) for each in self._items]
        for play in self._plays:
            self._swaps |= _swaps_of(play)
        targets = self._targets()
        for each in targets:
            self._functions[each] = list(self._found(each))
        if self._asked.server == "widen":
            self._widening = self._widen()
        return targets

    def _prepare(self) -> Ready:
        """Weave and import, before any fork, what each trial would have to."""
        targets = self._settle()
        fix = Job(id="fix", variant="fix")
        before = set(sys.modules)
        ended = forked(lambda _: msgspec.json.encode(_imported(lambda: self._try(fix), before)), self._limits)
        if not ended.is_whole:
            raise PlanError(f"the test can't be tried: {_told(ended, self._limits)[1]}")
        _preload(msgspec.json.decode(ended.said, type=list[str]), self._asked.folder)
        trust_nobody()
        for target, functions in self._functions.items():
            if functions:
                self._part(target)
        for item, play in zip(self._items, self._plays, strict=False):
            play.face.prepare()
            _warm(play)
            if self._widening is None:  # its trials mark the tests anew
                item.stash[_prepared] = play
        gc.collect()
        gc.freeze()
        has_grown()
        first = self._tried(fix)
        if self._widening is not None:
            self._widening.know(first)
        if self._asked.timeout is None:
            self._limits = Limits(max(_LEAST, _TIMES * first.seconds), self._asked.memory)
        return self._ready(targets, first)

    def _ready(self, targets: tuple[Target, ...], first: Reply) -> Ready:
        return Ready(
            tests=len(self._items),
            swaps=self._swaps,
            targets=targets,
            recorded=tuple(each for play in self._plays for each in recorded_of(play)),
            fix=first,
            limit=self._limits.seconds,
            process=os.getpid(),
        )

    def _targets(self) -> tuple[Target, ...]:
        """Give what is mutated: what is asked for, else what the tests swap in, else the live tools of the record."""
        if self._asked.targets:
            return self._asked.targets
        found: dict[Target, None] = {}
        for play in self._plays:
            swaps = play.asked.swap or {}
            for old, new in swaps.items():
                function = Swap(old, new, play.root).function()
                while hasattr(function, "__wrapped__"):
                    function = function.__wrapped__
                code = getattr(function, "__code__", None)
                if code is None:
                    raise PlanError(
                        f"{new} has no code of Python's that could be mutated; name a function with --tool"
                    )
                found[self._target(code.co_filename, code.co_qualname)] = None
            record, plan = play.face.planned()
            for each in () if swaps else again.suspects(record, plan):
                file, qualname, _ = again.parts_of(each.site)
                if file.endswith(".py"):
                    found[self._target(os.path.join(play.root, file), qualname)] = None
        if self._plays and not found:
            raise PlanError(
                "the live tools are defined in a library; name the function of yours to mutate with --tool FILE:NAME"
            )
        return tuple(found)

    def _target(self, path: str, qualname: str) -> Target:
        folder = os.path.realpath(self._asked.folder)
        return Target(os.path.relpath(os.path.realpath(path), folder).replace(os.sep, "/"), qualname)

    def _widen(self) -> Widening:
        """Have each target swapped for what gives it other inputs; without a swap they stand in for themselves."""
        functions = [function for each in self._functions.values() for function in each]
        for item, play in zip(self._items, self._plays, strict=True):
            if not play.asked.swap:
                own = {f"{each.__code__.co_filename}:{each.__code__.co_qualname}": each for each in functions}
                _mark(item, swap=own)
        self._plays = [_play_of(each) for each in self._items]
        texts = {}
        for each in functions:
            with open(each.__code__.co_filename, encoding="utf-8") as file:
                texts[each.__code__.co_filename] = file.read()
        return Widening(functions, texts, self._asked.inputs, self._asked.memory)

    def _explore(self, widening: Widening, reply: Reply) -> Reply:
        """Run the tests with other inputs at each call of a target; in the fork."""
        explorers = []
        for item, play in zip(self._items, self._plays, strict=True):
            swaps: dict[str, Any] = {}
            for old, new in (play.asked.swap or {}).items():
                explorers.append(widening.explorer(Swap(old, new, play.root).function()))
                swaps[old] = explorers[-1].callable()
            _mark(item, swap=swaps)
        kind, said = _kind_of(self._run())
        return widened(msgspec.structs.replace(reply, kind=kind, said=said), explorers, widening.knows())

    def _path(self, target: Target) -> str:
        return os.path.realpath(os.path.join(self._asked.folder, target.file))

    def _found(self, target: Target) -> Iterator[FunctionType]:
        """Give the functions that have a target's code, wherever they are held."""
        path = self._path(target)
        if not os.path.isfile(path):
            raise PlanError(
                f"there is no file {target.file} in {self._asked.folder}, which was to have {target.function}"
            )
        with suppress(PlanError):  # it may be a function inside a function, or be deleted after it was used
            Swap(f"{path}:{target.function}", f"{path}:{target.function}", self._asked.folder).function()
        for function in every_function():
            code = function.__code__
            if code.co_qualname == target.function and os.path.realpath(code.co_filename) == path:
                yield function

    # --- trials ----------------------------------------------------------------------------------------------------

    def _tried(self, job: Job) -> Reply:
        """Try in a fork, and say how that ended."""
        return _settled(job, lambda: self._try(job), self._limits)

    def _try(self, job: Job) -> Reply:
        """Put in place what is to be tried, and run the tests; in the fork."""
        reply = Reply(id=job.id, variant=job.variant)
        if job.variant == "unguarded":
            for each in self._items:
                _mark(each, swap=None)
        elif job.rebuilds:
            return msgspec.structs.replace(reply, must_rebuild="it runs when the module is imported")
        elif job.target is not None:
            try:
                self._put(job.target, job.text)
            except SyntaxError as error:
                return msgspec.structs.replace(reply, kind="compile", said=f"SyntaxError: {error.msg}")
            except WeavingError as error:
                return msgspec.structs.replace(reply, must_rebuild=error.message)
        if self._widening is not None and job.variant in {"fix", "mutant"}:
            return self._explore(self._widening, reply)
        kind, said = _kind_of(self._run())
        found = [each.stash.get(_play, None) for each in self._items]
        plays = [play for play in found if isinstance(play, Replayer)]
        return msgspec.structs.replace(
            reply,
            kind=kind,
            said=said,
            given=tuple(given for play in plays for given in given_by(play)),
            reached=tuple(count for play in plays for count in _reached(play)),
            reran=any(play.face.reran for play in plays),
        )

    def _put(self, target: Target, text: str) -> None:
        functions = self._functions.get(target) or ()
        if not functions:
            raise WeavingError(f"{target.function} of {target.file} is not loaded before the tests run")
        code = self._part(target).compiled(text)
        for each in functions:
            replace_code(each, code)

    def _part(self, target: Target) -> Part:
        if target not in self._parts:
            path = self._functions[target][0].__code__.co_filename
            with tokenize.open(path) as file:
                self._parts[target] = Part(file.read(), path, target.function)
        return self._parts[target]

    def _run(self) -> BaseException | None:
        """Run the tests, up to the first that fails; gives what it raised."""
        for item in self._items:
            for when in ("setup", "call", "teardown"):
                hook = getattr(item.ihook, f"pytest_runtest_{when}")
                options: dict[str, Any] = {"nextitem": None} if when == "teardown" else {}
                called = pytest.CallInfo.from_call(lambda: hook(item=item, **options), when=when)  # noqa: B023
                if called.excinfo is not None:
                    return called.excinfo.value
        return None


def _mark(item: pytest.Item, **options: Any) -> None:
    """Have a test ask for something else of its trace."""
    marker = item.get_closest_marker(MARKER)
    assert marker is not None  # noqa: S101 - others are not collected
    if _prepared in item.stash:
        del item.stash[_prepared]
    mark = getattr(pytest.mark, MARKER)
    item.add_marker(mark(*marker.args, **(dict(marker.kwargs) | options)), append=False)


def _play_of(item: pytest.Item) -> Replayer:
    """Weave for a test, as it will before it runs."""
    marker = item.get_closest_marker(MARKER)
    assert marker is not None  # noqa: S101 - others are not collected
    several = getattr(item, "callspec", None)
    trace = several.params.get("_autochron_trace") if several is not None else None
    play = play_of(asked_of(marker, item, trace), "replay", item)
    assert isinstance(play, Replayer)  # noqa: S101 - it is what the mode gives
    return play


def _swaps_of(play: Replayer) -> dict[str, str]:
    """Give what a test swaps by name, with whole paths."""

    def whole(name: str) -> str:
        module, _, qualname = name.rpartition(":")
        return f"{os.path.join(play.root, module)}:{qualname}" if module.endswith(".py") else name

    return {whole(old): whole(new) for old, new in (play.asked.swap or {}).items() if isinstance(new, str)}


def _reached(play: Replayer) -> Iterable[int]:
    return (count for swap in play.face.swaps for count in swap.reached)


# --- what became of it -------------------------------------------------------------------------------------------------


def _kind_of(error: BaseException | None) -> tuple[Kind, str]:
    """Say how a test ended."""
    if error is None:
        return "passed", ""
    said = _first_line(error)
    if isinstance(error, AssertionError | pytest.fail.Exception):
        return "assertion", said
    if isinstance(error, DivergenceError | AutochronError):
        return "divergence", said
    if isinstance(error, SystemExit | pytest.exit.Exception):
        return "exit", said
    if isinstance(error, MemoryError):
        return "memory", "it allocates more than a trial may"
    return "crash", said


def _told(ended: Ended, limits: Limits) -> tuple[Kind, str]:
    """Say how a fork ended that has said nothing."""
    if ended.is_late:
        return "time-out", f"it was not done after {limits.seconds:.3g} s"
    if ended.signal:
        import signal  # lazy: an enumeration, for names

        return "signal", f"killed by {signal.Signals(ended.signal).name}"
    return "exit", f"its process ended with status {ended.status} and no word"


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    name = type(error).__name__
    return f"{name}: {lines[0].strip()[:200]}" if lines else name


# --- before the forks -----------------------------------------------------------------------------------------------------


def _imported(work: Callable[[], object], before: set[str]) -> list[str]:
    work()
    return [name for name in sys.modules if name not in before]


def _preload(modules: Iterable[str], folder: str) -> None:
    """Import what a trial has imported, for each to find it; not what is the incident's own, or has no file."""
    home = os.path.realpath(folder) + os.sep
    for name in modules:
        top = sys.modules.get(name.partition(".")[0])
        file = getattr(top, "__file__", None)
        if file and os.path.realpath(file).startswith(home):
            continue
        with suppress(BaseException):  # the trial has imported it in another way, and does so again
            importlib.import_module(name)


def _warm(play: Replayer) -> None:
    """Have read and compiled what masks inputs: each trial gives its model something else than was recorded."""
    record, _ = play.face.planned()
    redactor = Redactor()
    for each in record:
        redactor.mask(each.input)


class Once(Trials):
    """The plugin of a run of pytest that is one trial, its modules imported for that."""

    def __init__(self, asked: Asked, job: Job, known: Reply | None) -> None:
        super().__init__(asked, None, -1)
        self._job = msgspec.structs.replace(job, target=None, text="", rebuilds=False)
        self._known = known
        self.reply: Reply | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests; whatever comes of that is the reply."""
        self._items = session.items
        if session.testsfailed or not self._items:
            return True
        self._settle()
        if self._widening is not None:
            self._widening.know(self._known)
        self.reply = self._try(self._job)
        return True

    def said(self) -> Reply:
        """Give the reply; that the tests could not be collected is one, too."""
        if self.reply is not None:
            return self.reply
        said = self._fault or "the tests can't be collected"
        return Reply(id=self._job.id, variant=self._job.variant, kind="crash", said=said)


class Rebuilding:
    """A server whose trials each import the incident's modules, with another text in a file's place."""

    def __init__(self, asked: Asked, jobs: BinaryIO, writing: int) -> None:
        self._asked = asked
        self._jobs = jobs
        self._writing = writing
        self._limits = Limits(asked.timeout or _FIRST, asked.memory)
        self._known: Reply | None = None

    def serve(self) -> None:
        """Try what is asked for, as long as something is."""
        self._import()
        trust_nobody()
        first = self._tried(Job(id="fix", variant="fix"))
        self._known = first
        if self._asked.timeout is None:
            self._limits = Limits(max(_LEAST, _TIMES * first.seconds), self._asked.memory)
        limit = self._limits.seconds
        say(self._writing, Ready(targets=self._asked.targets, fix=first, limit=limit, process=os.getpid()))
        for line in self._jobs:
            say(self._writing, self._tried(msgspec.json.decode(line, type=Job)))

    def _import(self) -> None:
        """Import once what each trial would: the plugins of pytest, the libraries; nothing of what may be changed."""
        if any(each.file.startswith("../") for each in self._asked.targets):
            return  # then a library may be what is changed, or import that
        before = set(sys.modules)
        fix = Job(id="fix", variant="fix")
        ended = forked(lambda _: msgspec.json.encode(_imported(lambda: self._try(fix), before)), self._limits)
        if ended.is_whole:
            _preload(msgspec.json.decode(ended.said, type=list[str]), self._asked.folder)
            gc.collect()
            gc.freeze()
            has_grown()

    def _tried(self, job: Job) -> Reply:
        return _settled(job, lambda: self._try(job), self._limits)

    def _try(self, job: Job) -> Reply:
        if job.target is not None:
            overlay.lay(os.path.join(self._asked.folder, job.target.file), job.text)
        once = Once(self._asked, job, self._known)
        try:
            pytest.main(_words(self._asked), plugins=[once])
        except BaseException as error:  # what a module that is collected may raise
            kind, said = _kind_of(error)
            return Reply(id=job.id, variant=job.variant, kind=kind, said=said)
        return once.said()


def _settled(job: Job, work: Callable[[], Reply], limits: Limits) -> Reply:
    """Try in a fork, and say how that ended."""
    began = _originals.perf_counter_ns()
    flush()
    ended = forked(lambda _: msgspec.json.encode(work()), limits)
    took = (_originals.perf_counter_ns() - began) / 1e9
    if ended.is_whole:
        return msgspec.structs.replace(msgspec.json.decode(ended.said, type=Reply), seconds=took)
    kind, said = _told(ended, limits)
    return Reply(id=job.id, variant=job.variant, kind=kind, said=said, seconds=took)


def say(writing: int, said: Ready | Reply) -> None:
    """Say something to who asks."""
    with open(writing, "wb", closefd=False) as file:
        file.write(msgspec.json.encode(said) + b"\n")


def _words(asked: Asked) -> list[str]:
    """Give what pytest is told."""
    words = ["-q", "-s", "--no-header", "-p", "no:cacheprovider", "-W", "ignore"]
    words += [option for name, option in _QUIET.items() if importlib.util.find_spec(name) is not None]
    return [*words, *asked.paths]


def serve(channel: Channel) -> None:
    """Do what is asked through a channel, until nothing is asked any more."""
    with open(channel.reading, "rb", closefd=False) as jobs:
        first = jobs.readline()
        if not first:
            return
        asked = msgspec.json.decode(first, type=Asked)
        if asked.rebuilds:
            Rebuilding(asked, jobs, channel.writing).serve()
            return
        trials = Trials(asked, jobs, channel.writing)
        trials.end(int(pytest.main(_words(asked), plugins=[trials])))


_QUIET = {"xdist": "-n0", "pytest_cov": "--no-cov"}
"""What others add to a run of pytest that would stand between a trial and its fork."""


def main(words: list[str]) -> int:
    """Import, and fork into servers."""
    nursed = msgspec.json.decode(words[0], type=Nursed)
    for name in sorted(imports_of(nursed.folder)):
        with suppress(BaseException):  # the tests import it, and say so
            importlib.import_module(name)
    return nurse(nursed, serve)


def nurse(nursed: Nursed, serve: Callable[[Channel], None]) -> int:
    """Fork into a server for each channel, and wait for them."""
    for channel in nursed.channels:
        if os.fork() == 0:
            for other in nursed.channels:
                if other is not channel:
                    os.close(other.reading)
                    os.close(other.writing)
            status = 1
            try:
                os.setsid()
                serve(channel)
                status = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                flush()
                os._exit(status)
    for channel in nursed.channels:
        os.close(channel.reading)
        os.close(channel.writing)
    for _ in nursed.channels:
        os.wait()
    return 0


def imports_of(folder: str) -> set[str]:
    """Give what the files of a folder import from elsewhere, as they say it at their top."""
    found: set[str] = set()
    own = {entry.name.removesuffix(".py") for entry in os.scandir(folder)}
    for entry in os.scandir(folder):
        if not entry.name.endswith(".py"):
            continue
        try:
            with open(entry.path, "rb") as file:
                body = ast.parse(file.read()).body
        except (SyntaxError, ValueError, OSError):  # pytest says so
            continue
        for each in body:
            names = [alias.name for alias in each.names] if isinstance(each, ast.Import) else []
            if isinstance(each, ast.ImportFrom) and each.module and not each.level:
                names = [each.module]
            found |= {name for name in names if name.partition(".")[0] not in own}
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
