"""A distributor for cosmic-ray: `cosmic-ray exec` has each mutant tried in a fork, and no file on disk is changed.

    [cosmic-ray.distributor]
    name = "autochron"

    [cosmic-ray.distributor.autochron]
    jobs = 4

`jobs` is how many mutants are tried at a time; the default is the number of cores. The test command must be a command
of pytest. The results are those of cosmic-ray's own distributor `local`, without a new interpreter for each mutant: a
time-out is a kill, and so is every exit status but 0.
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

_REMEDY_TEXT = (
    "write `python -m pytest ARGS` or `pytest ARGS`, and keep options in pytest's own configuration; or say"
    ' `name = "local"` under [cosmic-ray.distributor]'
)


class PytestCommand(NamedTuple):
    """A command of pytest.

    Attributes:
        words: the arguments after `pytest`.
        is_module: whether it is run as `python -m pytest`.
    """

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
        """Try all pending mutants, and report each result from the calling thread.

        The signature is cosmic-ray's.

        Args:
            pending_work: the mutants.
            test_command: the command of pytest.
            timeout: seconds that a trial may take.
            distributor_config: the table `[cosmic-ray.distributor.autochron]`.
            on_task_complete: is called with the id and the result of each mutant.

        Raises:
            UsageError: the command is not one of pytest, or of another interpreter, or a module to mutate is loaded
                by the engine itself.
        """
        command = read_command(test_command)
        items = list(pending_work)
        if not items:
            return
        width = min(_jobs(distributor_config), len(items))
        files = sorted(
            {os.path.realpath(mutation.module_path) for item in items for mutation in item.mutations}
        )
        task = ServerTask(
            server="command",
            paths=(),
            folder=os.getcwd(),
            timeout=timeout,
            words=command.words,
            is_module=command.is_module,
            files=tuple(files),
        )
        fork_server = ForkServer(_SERVER, os.getcwd(), width)
        server_pool = ServerPool(fork_server, task, width)
        try:
            fix = server_pool.first().fix
            if fix is not None and fix.kind != "passed":
                _LOG.warning(
                    "the tests fail before anything is mutated, so that every mutant counts as killed"
                )
            with ThreadPoolExecutor(width) as pool:
                futures = {pool.submit(_try_item, item, server_pool): item.job_id for item in items}
                try:
                    for future in as_completed(futures):
                        on_task_complete(futures[future], future.result())
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    server_pool.end()  # so that no thread waits for a running trial
                    raise
        finally:
            server_pool.end()
            fork_server.end()


def read_command(text: str) -> PytestCommand:
    """Read a command of pytest.

    Raises:
        UsageError: it is another command, or one of another interpreter than this one.
    """
    words = shlex.split(text)
    program, *rest = words or [""]
    name = os.path.basename(program)
    if name in {"pytest", "py.test"}:
        path = shutil.which(program)
        if path is None or os.path.realpath(os.path.dirname(path)) != os.path.realpath(_scripts_folder()):
            raise UsageError(
                f"test-command `{text}`: {path or program} is not of the Python that runs cosmic-ray here ({sys.prefix}),"
                " whose forks would run the tests; install pytest there, or write `python -m pytest ARGS`"
            )
        return PytestCommand(tuple(rest), is_module=False)
    if not name.startswith("python") or rest[:2] != ["-m", "pytest"]:
        raise UsageError(
            f"test-command `{text}` can't be run in forks, for it is no command of pytest; {_REMEDY_TEXT}"
        )
    prefix = _prefix_of(program)
    if prefix is None or os.path.realpath(prefix) != os.path.realpath(sys.prefix):
        raise UsageError(
            f"test-command `{text}`: its Python is that of {prefix or 'nowhere'}, and cosmic-ray runs here in that of"
            f" {sys.prefix}, whose forks would run the tests; run cosmic-ray there, or name {sys.executable}"
        )
    return PytestCommand(tuple(rest[2:]), is_module=True)


def _scripts_folder() -> str:
    return os.path.dirname(sys.executable)


def _prefix_of(program: str) -> str | None:
    words = [program, "-c", "import sys; print(sys.prefix)"]
    try:
        process = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip()


def _jobs(config: Mapping[str, Any]) -> int:
    unknown = sorted(set(config) - {"jobs"})
    if unknown:
        raise UsageError(f"[cosmic-ray.distributor.autochron] has no option `{unknown[0]}`; it takes jobs")
    jobs = config.get("jobs", os.cpu_count() or 1)
    if type(jobs) is not int or jobs < 1:
        raise UsageError(f"[cosmic-ray.distributor.autochron] jobs = {jobs!r}: it takes a number from 1 on")
    return jobs


# --- one mutant -----------------------------------------------------------------------------------------------------


def _try_item(item: WorkItem, server_pool: ServerPool) -> WorkResult:
    """Make a mutant, and have it tried; an error of its operator is a result, as in cosmic-ray."""
    try:
        texts_by_path = _changed_texts(item)
    except Exception:  # raised by an operator
        return WorkResult(
            worker_outcome=WorkerOutcome.EXCEPTION,
            test_outcome=TestOutcome.INCOMPETENT,
            output=traceback.format_exc(),
        )
    if texts_by_path is None:
        return WorkResult(worker_outcome=WorkerOutcome.NO_TEST)
    texts = {os.path.realpath(path): after for path, (_, after) in texts_by_path.items()}
    reply = server_pool.ask(Job(id=item.job_id, variant="mutant", texts=texts))
    return _result(
        reply, "\n".join(line for path, pair in texts_by_path.items() for line in _diff_lines(path, *pair))
    )


def _changed_texts(item: WorkItem) -> dict[Path, tuple[str, str]] | None:
    """Return the texts of the files that a mutant changes, before and after; None where the operator has no such place.

    Where a mutant has several mutations, each is applied to the text that the previous one left.
    """
    texts: dict[Path, tuple[str, str]] = {}
    for mutation in item.mutations:
        operator = get_operator(mutation.operator_name)(**(mutation.operator_args or {}))
        path = mutation.module_path
        if path not in texts:
            source = read_python_source(path)
            texts[path] = (source, source)
        before, current = texts[path]
        after = mutate_code(current, operator, mutation.occurrence)
        if after is None:
            return None
        texts[path] = (before, after)
    return texts


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


def _diff_lines(path: Path, before: str, after: str) -> list[str]:
    """Return the diff of one file, in the form of cosmic-ray."""
    lines = difflib.unified_diff(
        before.split("\n"), after.split("\n"), fromfile=f"a/{path}", tofile=f"b/{path}", lineterm=""
    )
    return ["--- mutation diff ---", *lines]
