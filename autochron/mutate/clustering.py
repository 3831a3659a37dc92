"""Incidents studied on a Dask cluster, one in each task.

A task runs in a thread of a worker, and the worker never forks there: the fork server is a process of its own, which
has one thread. Workers must see the same files under the same paths. Each incident's journal keeps what was tried, so
if a worker dies, its trials are not repeated.
"""

from __future__ import annotations

import importlib
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, TypeAlias, TypeVar

from autochron._runtime import unpatched
from autochron.errors import UsageError
from autochron.extras import extra

Progress: TypeAlias = Callable[[str, str, int, int], None]
"""Is called with the incident, the step, how much of the step is done, and how much there is."""

Stopping: TypeAlias = Callable[[Callable[[], None]], None]
"""Is called with a function that stops the work soon."""

T = TypeVar("T")
Work: TypeAlias = Callable[[str, Any, Progress, Stopping], T]
"""A function at the top level of a module. It takes a folder, the options, the progress callback, and a `Stopping`."""

_REPORT_INTERVAL = 500_000_000
"""Nanoseconds between two progress reports of an incident: each goes through the scheduler."""

_STOP_TIMEOUT = 5.0
"""Seconds to wait for tasks that were told to stop."""


def mapped(
    work: Work[T],
    folders: Sequence[str],
    options: Any,
    scheduler: str | None,
    workers: int,
    progress: Progress,
) -> list[T]:
    """Do the work for each folder on a cluster, and return the results in the order of the folders.

    Args:
        work: what is done for one folder.
        folders: the folders.
        options: are passed to the work.
        scheduler: the address of a Dask scheduler; None: a cluster of this machine is started.
        workers: how many workers that cluster has at most.
        progress: is called with the progress of each folder.

    Raises:
        MissingExtraError: Dask is not installed.
        UsageError: there is no scheduler at that address, or workers die over a task.
        KeyboardInterrupt: running tasks were told to stop, and the others don't begin.
    """
    distributed = _distributed()
    token = uuid.uuid4().hex
    with ExitStack() as stack:
        client = stack.enter_context(_client(distributed, scheduler, min(workers, len(folders)), stack))
        client.subscribe_topic(token, lambda event: _forward_progress(event, progress))
        stop = distributed.Event(f"autochron-{token}", client=client)
        stop.clear()
        futures = [
            client.submit(_in_worker, work, folder, options, token, pure=False, key=f"{folder}-{token}")
            for folder in folders
        ]
        try:
            folder_of = dict(zip((future.key for future in futures), folders, strict=True))
            results = {
                future.key: _result(distributed, future, folder_of[future.key])
                for future in distributed.as_completed(futures)
            }
            return [results[future.key] for future in futures]
        except BaseException:
            with suppress(Exception):  # the scheduler may have gone
                stop.set()
                distributed.wait(futures, timeout=_STOP_TIMEOUT)
                client.cancel(futures)
            raise


def _distributed() -> Any:
    with extra("dask", "--executor dask"):
        return importlib.import_module("distributed")


def _client(distributed: Any, scheduler: str | None, workers: int, stack: ExitStack) -> Any:
    if scheduler is None:
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
        )
        stack.callback(_close, cluster)
        return distributed.Client(cluster)
    try:
        return distributed.Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:  # a time-out is an OSError
        raise UsageError(
            f"--scheduler {scheduler}: there is no Dask scheduler ({error}); name it as tcp://HOST:PORT, or leave"
            " --scheduler out for a cluster of this machine"
        ) from error


def _close(cluster: Any) -> None:
    """Close a cluster of this machine. Workers for which Dask stops waiting end with this process."""
    with suppress(Exception):  # it would hide the work's result or exception
        cluster.close()


def _result(distributed: Any, future: Any, folder: str) -> Any:
    try:
        return future.result()
    except distributed.scheduler.KilledWorker as error:
        last = getattr(error.last_worker, "address", error.last_worker)
        raise UsageError(
            f"{folder}: the workers that tried it have died, the last one at {last}; see what ended them (memory, above all),"
            " and start the same command again: it goes on where they were"
        ) from error
    except distributed.CancelledError as error:
        raise UsageError(
            f"{folder}: its task was cancelled, or the scheduler has gone; start the same command again: it goes on there"
        ) from error


def _forward_progress(event: Any, progress: Progress) -> None:
    _, (incident, step, done, total, times) = event
    for _ in range(times):
        progress(incident, step, done, total)


# --- in the worker ----------------------------------------------------------------------------------------------------


def _in_worker(work: Work[T], folder: str, options: Any, token: str) -> T | None:
    """Do the work for one folder in a thread of a worker, and return the result; None where it was stopped."""
    distributed = _distributed()
    worker = distributed.get_worker()
    stop = distributed.Event(f"autochron-{token}", client=distributed.get_client())
    if stop.is_set():  # stopped before it began
        return None
    finished = threading.Event()

    def stopping(end: Callable[[], None]) -> None:
        def watch() -> None:
            with suppress(Exception):  # the scheduler has gone, so nobody can stop this
                while not finished.is_set():
                    if stop.wait(timeout=1):
                        end()
                        return

        threading.Thread(target=watch, daemon=True).start()

    try:
        return work(folder, options, _ProgressReporter(worker, token).report, stopping)
    except KeyboardInterrupt:  # it would end Dask's worker
        return None
    finally:
        finished.set()


class _ProgressReporter:
    """Sends the progress of one incident to the client, at most once in each interval."""

    def __init__(self, worker: Any, topic: str) -> None:
        self._worker = worker
        self._topic = topic
        self._last_report = 0
        self._unreported = 0

    def report(self, incident: str, step: str, done: int, total: int) -> None:
        """Send the progress, if the interval is over or the step is done."""
        self._unreported += 1
        time = unpatched.perf_counter_ns()
        if time - self._last_report < _REPORT_INTERVAL and done < total:
            return
        self._last_report, count, self._unreported = time, self._unreported, 0
        self._worker.log_event(self._topic, (incident, step, done, total, count))
