"""Incidents tried on a Dask cluster, one a task.

A task is asked for in a thread of its worker, and never forks there: what forks is the process that it starts, which has one
thread. Workers must see the same files under the same paths, and what was tried is in the journal of each incident, so that
what a worker had tried which died is not tried again.
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

Progress: TypeAlias = Callable[[str, str, int, int], None]
"""Told of the incident, what is done, how much of it, and of how much."""

Stopping: TypeAlias = Callable[[Callable[[], None]], None]
"""Takes what is to be called when all is to end soon."""

T = TypeVar("T")
Work: TypeAlias = Callable[[str, Any, Progress, Stopping], T]
"""A function at the top of a module, given a folder, options, whom to tell, and whom to ask to be stopped."""

_EVERY = 500_000_000
"""Nanoseconds between what a worker tells of one incident: each goes through the scheduler."""

_PATIENCE = 5.0
"""Seconds to wait for tasks to end that were told to."""


def mapped(
    work: Work[T],
    folders: Sequence[str],
    options: Any,
    scheduler: str | None,
    workers: int,
    progress: Progress,
) -> list[T]:
    """Have the work done for each folder, by the cluster of a scheduler or by one of this machine.

    Raises:
        UsageError: Dask is not installed, there is no scheduler at that address, or workers die over a task.
        KeyboardInterrupt: tasks that run are told to stop, and others don't begin.
    """
    distributed = _distributed()
    token = uuid.uuid4().hex
    with ExitStack() as stack:
        client = stack.enter_context(_client(distributed, scheduler, min(workers, len(folders)), stack))
        client.subscribe_topic(token, lambda event: _hear(event, progress))
        stop = distributed.Event(f"autochron-{token}", client=client)
        stop.clear()
        futures = [
            client.submit(_in_worker, work, folder, options, token, pure=False, key=f"{folder}-{token}")
            for folder in folders
        ]
        try:
            named = dict(zip((each.key for each in futures), folders, strict=True))
            done = {
                each.key: _result(distributed, each, named[each.key])
                for each in distributed.as_completed(futures)
            }
            return [done[each.key] for each in futures]
        except BaseException:
            with suppress(Exception):  # the scheduler may be what has gone
                stop.set()
                distributed.wait(futures, timeout=_PATIENCE)
                client.cancel(futures)
            raise


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ModuleNotFoundError as error:
        missing = (error.name or "distributed").partition(".")[0]
        raise UsageError(
            f"--executor dask needs {missing}, which isn't installed: pip install 'autochron[dask]'"
        ) from None


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
    """Close a cluster of this machine; workers that Dask gives up waiting for end with this process."""
    with suppress(Exception):  # it would stand in the place of what the work gave or raised
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


def _hear(event: Any, progress: Progress) -> None:
    _, (incident, what, done, total, times) = event
    for _ in range(times):
        progress(incident, what, done, total)


# --- in the worker ----------------------------------------------------------------------------------------------------


def _in_worker(work: Work[T], folder: str, options: Any, token: str) -> T | None:
    """Do the work for one folder, in a thread of a worker; None where it was stopped."""
    distributed = _distributed()
    worker = distributed.get_worker()
    stop = distributed.Event(f"autochron-{token}", client=distributed.get_client())
    if stop.is_set():  # while it waited for its turn
        return None
    over = threading.Event()

    def stopping(end: Callable[[], None]) -> None:
        def watch() -> None:
            with suppress(Exception):  # the scheduler has gone, and with it who could stop this
                while not over.is_set():
                    if stop.wait(timeout=1):
                        end()
                        return

        threading.Thread(target=watch, daemon=True).start()

    try:
        return work(folder, options, _ProgressReporter(worker, token).tell, stopping)
    except KeyboardInterrupt:  # Dask would end the worker
        return None
    finally:
        over.set()


class _ProgressReporter:
    """Reports the progress from time to time."""

    def __init__(self, worker: Any, topic: str) -> None:
        self._worker = worker
        self._topic = topic
        self._told = 0
        self._times = 0

    def tell(self, incident: str, what: str, done: int, total: int) -> None:
        """Report the progress, if it is time."""
        self._times += 1
        now = unpatched.perf_counter_ns()
        if now - self._told < _EVERY and done < total:
            return
        self._told, times, self._times = now, self._times, 0
        self._worker.log_event(self._topic, (incident, what, done, total, times))
