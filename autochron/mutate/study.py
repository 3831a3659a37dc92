"""A mutation study: each incident tried, on this machine or on a cluster, and put together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from autochron._runtime.unpatched import os
from autochron.errors import UsageError
from autochron.mutate.clustering import mapped
from autochron.mutate.incident_study import Progress, Unit
from autochron.mutate.model import (
    METHODS,
    StudiedIncident,
    Study,
)
from autochron.mutate.options import Arguments, StudyOptions, check_folder, folders_of, read_arguments
from autochron.mutate.sets import OperatorSet, operator_set

__all__ = ["Arguments", "StudyOptions", "folders_of", "read_arguments", "study_of"]


def study_of(folders: Sequence[Path], options: StudyOptions, progress: Progress) -> Study:
    """Try the mutants of each incident by every method.

    Raises:
        UsageError: an incident can't be tried: it says which, and why.
        KeyboardInterrupt: what was tried until then is in the journal, and the same call goes on from there.
    """
    operators = operator_set(options.operators)
    names = [each.resolve().name for each in folders]
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise UsageError(
            f"two folders are called {double}; name them in runs of their own, with an --out each"
        )
    if options.executor == "dask":
        return _study(operators, _on_cluster(folders, options, progress), options)
    at_once = max(1, min(options.jobs, len(folders)))
    width = max(1, options.jobs // at_once)
    units = [Unit(folder, operators, options, width, progress) for folder in folders]
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(unit.run) for unit in units]
        try:
            incidents = tuple(future.result() for future in futures)
        except BaseException:
            for future in futures:
                future.cancel()
            for unit in units:
                unit.stop()
            raise
    return _study(
        operators, [(each, unit.digest) for each, unit in zip(incidents, units, strict=True)], options
    )


def _study(
    operators: OperatorSet, made: Sequence[tuple[StudiedIncident, str]], options: StudyOptions
) -> Study:
    incidents = tuple(each for each, _ in made)
    if not any(each.generated for each in incidents):
        raise UsageError(
            f"the operators {operators.name} find nothing to change in"
            f" {', '.join(f'{target.file}:{target.function}' for each in incidents for target in each.targets)}; name others"
            " with --operators, or another function with --tool"
        )
    digest = hashlib.sha256("\n".join(each for _, each in made).encode()).hexdigest()[:16]
    tried = {method for each in incidents for result in each.results for method in result.verdicts}
    return Study(
        operators=operators.name,
        digest=digest,
        methods=tuple(each for each in METHODS if each in tried),
        incidents=incidents,
        shard=options.shard,
    )


def _on_cluster(
    folders: Sequence[Path], options: StudyOptions, progress: Progress
) -> list[tuple[StudiedIncident, str]]:
    """Try each incident in a task of its own; their journals lie where those of one machine do."""
    whole = msgspec.structs.replace(options, out=os.path.abspath(options.out))
    names = [str(each.resolve()) for each in folders]
    return mapped(in_task, names, whole, options.scheduler, options.jobs, progress)


def in_task(
    folder: str, options: StudyOptions, progress: Progress, stopping: Callable[[Callable[[], None]], None]
) -> tuple[StudiedIncident, str]:
    """Try one incident in a worker of a cluster: one process at a time, for other tasks have the other cores."""
    check_folder(Path(folder))
    unit = Unit(Path(folder), operator_set(options.operators), options, 1, progress)
    stopping(unit.stop)
    return unit.run(), unit.digest
