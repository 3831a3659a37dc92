"""A distributor for cosmic-ray: `cosmic-ray exec` has each mutant tried in a fork, and no file on disk is changed.

    [cosmic-ray.distributor]
    name = "autochron"

    [cosmic-ray.distributor.autochron]
    jobs = 4

`jobs` is how many are tried at a time, as many as there are cores unless given. The test command must be one of pytest's.
What comes of a mutant is what cosmic-ray's own distributor `local` says of it, without a new interpreter for each: a time-out
is a kill, and so is every status but 0.
"""

from __future__ import annotations

import difflib
import logging
import os
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from cosmic_ray.distribution.distributor import Distributor
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.util import read_python_source
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkItem, WorkResult

from autochron.errors import UsageError
from autochron.mutate.fork_server import ForkServer, ServerPool
from autochron.mutate.protocol import Job, ServerTask, TrialReply

_SERVER = "autochron.mutate.server.command_server"

_LOG = logging.getLogger(__name__)

_INSTEAD = (
    "write `python -m pytest ARGS` or `pytest ARGS`, and keep options in pytest's own configuration; or say"
    ' `name = "local"` under [cosmic-ray.distributor]'
)


class PytestCommand(NamedTuple):
    """A command of pytest: what follows its name, and whether it is run as a module."""

    words: tuple[str, ...]
    is_module: bool


class AutochronDistributor(Distributor):  # type: ignore[misc] # cosmic-ray has no types
    """Tries mutants in forks of processes that have imported what the tests import."""

    def __call__(
        self,
        pending_work: Iterable[WorkItem],
        test_command: str,
        timeout: float,
        distributor_config: Mapping[str, Any],
        on_task_complete: Callable[[str, WorkResult], None],
    ) -> None:
        """Try all that is pending; each result is told from the calling thread.

        Raises:
            UsageError: the command is none of pytest's, the interpreter is another one, or a module that is mutated is one
                that the engine itself has loaded.
        """
        command = read_command(test_command)
        items = list(pending_work)
        if not items:
            return
        width = min(_jobs(distributor_config), len(items))
        files = sorted({os.path.realpath(each.module_path) for item in items for each in item.mutations})
        asked = ServerTask(
            server="command",
            paths=(),
            folder=os.getcwd(),
            timeout=timeout,
            words=command.words,
            is_module=command.is_module,
            files=tuple(files),
        )
        fork_server = ForkServer(_SERVER, os.getcwd(), width)
        server_pool = ServerPool(fork_server, asked, width)
        try:
            fix = server_pool.first().fix
            if fix is not None and fix.kind != "passed":
                _LOG.warning(
                    "the tests fail before anything is mutated, so that every mutant counts as killed"
                )
            with ThreadPoolExecutor(width) as pool:
                futures = {pool.submit(_tried, item, server_pool): item.job_id for item in items}
                try:
                    for future in as_completed(futures):
                        on_task_complete(futures[future], future.result())
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    server_pool.end()  # so that nobody waits for what is being tried
                    raise
        finally:
            server_pool.end()
            fork_server.end()


def read_command(text: str) -> PytestCommand:
    """Read a command of pytest.

    Raises:
        UsageError: it is none, or one of another interpreter than this one.
    """
    words = shlex.split(text)
    program, *rest = words or [""]
    name = os.path.basename(program)
    if name in {"pytest", "py.test"}:
        found = shutil.which(program)
        if found is None or os.path.realpath(os.path.dirname(found)) != os.path.realpath(_scripts()):
            raise UsageError(
                f"test-command `{text}`: {found or program} is not of the Python that runs cosmic-ray here ({sys.prefix}),"
                " whose forks would run the tests; install pytest there, or write `python -m pytest ARGS`"
            )
        return PytestCommand(tuple(rest), is_module=False)
    if not name.startswith("python") or rest[:2] != ["-m", "pytest"]:
        raise UsageError(
            f"test-command `{text}` can't be run in forks, for it is no command of pytest; {_INSTEAD}"
        )
    prefix = _prefix(program)
    if prefix is None or os.path.realpath(prefix) != os.path.realpath(sys.prefix):
        raise UsageError(
            f"test-command `{text}`: its Python is that of {prefix or 'nowhere'}, and cosmic-ray runs here in that of"
            f" {sys.prefix}, whose forks would run the tests; run cosmic-ray there, or name {sys.executable}"
        )
    return PytestCommand(tuple(rest[2:]), is_module=True)


def _scripts() -> str:
    return os.path.dirname(sys.executable)


def _prefix(program: str) -> str | None:
    words = [program, "-c", "import sys; print(sys.prefix)"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _jobs(config: Mapping[str, Any]) -> int:
    unknown = sorted(set(config) - {"jobs"})
    if unknown:
        raise UsageError(f"[cosmic-ray.distributor.autochron] has no option `{unknown[0]}`; it takes jobs")
    given = config.get("jobs", os.cpu_count() or 1)
    if type(given) is not int or given < 1:
        raise UsageError(f"[cosmic-ray.distributor.autochron] jobs = {given!r}: it takes a number from 1 on")
    return given


# --- one mutant -----------------------------------------------------------------------------------------------------


def _tried(item: WorkItem, server_pool: ServerPool) -> WorkResult:
    """Make a mutant and have it tried; what is wrong with its operator is a result, as in cosmic-ray."""
    try:
        changed = _texts(item)
    except Exception:  # of an operator
        return WorkResult(
            worker_outcome=WorkerOutcome.EXCEPTION,
            test_outcome=TestOutcome.INCOMPETENT,
            output=traceback.format_exc(),
        )
    if changed is None:
        return WorkResult(worker_outcome=WorkerOutcome.NO_TEST)
    texts = {os.path.realpath(path): after for path, (_, after) in changed.items()}
    reply = server_pool.ask(Job(id=item.job_id, variant="mutant", texts=texts))
    return _result(reply, "\n".join(line for path, pair in changed.items() for line in _diff(path, *pair)))


def _texts(item: WorkItem) -> dict[Path, tuple[str, str]] | None:
    """Return the texts of the files that a mutant changes, before and after; None where there is no such place.

    Of several mutations each changes what the one before has left.
    """
    found: dict[Path, tuple[str, str]] = {}
    for each in item.mutations:
        operator = get_operator(each.operator_name)(**(each.operator_args or {}))
        path = each.module_path
        if path not in found:
            source = read_python_source(path)
            found[path] = (source, source)
        before, now = found[path]
        after = mutate_code(now, operator, each.occurrence)
        if after is None:
            return None
        found[path] = (before, after)
    return found


def _result(reply: TrialReply, diff: str) -> WorkResult:
    if reply.fault:
        return WorkResult(
            worker_outcome=WorkerOutcome.EXCEPTION,
            test_outcome=TestOutcome.INCOMPETENT,
            output=reply.fault,
            diff=diff,
        )
    is_late = reply.kind == "time-out"
    return WorkResult(
        worker_outcome=WorkerOutcome.NORMAL,
        test_outcome=TestOutcome.SURVIVED if reply.kind == "passed" else TestOutcome.KILLED,
        output="timeout" if is_late else reply.said,
        diff=diff,
    )


def _diff(path: Path, before: str, after: str) -> list[str]:
    """Say what a mutant changes, as cosmic-ray does."""
    lines = difflib.unified_diff(
        before.split("\n"), after.split("\n"), fromfile=f"a/{path}", tofile=f"b/{path}", lineterm=""
    )
    return ["--- mutation diff ---", *lines]
