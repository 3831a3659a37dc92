"""A mutation study: each incident is studied, on this machine or on a cluster, and the results are put together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from autochron._runtime.unpatched import os
from autochron.errors import UsageError
from autochron.mutate.agreement import refuse_unknown_operators
from autochron.mutate.clustering import mapped
from autochron.mutate.incident_servers import Progress
from autochron.mutate.incident_study import IncidentStudy
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

    Args:
        folders: the incidents' folders.
        options: how the study is made.
        progress: is called when something was tried.

    Raises:
        UsageError: an incident can't be studied; the message says which, and why.
        KeyboardInterrupt: the study was interrupted. The journals have what was tried, and the same call resumes from
            there.
    """
    operators = operator_set(options.operators)
    if options.sample:
        refuse_unknown_operators(operators.operators)
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise UsageError(
            f"two folders are called {duplicate}; name them in runs of their own, with an --out each"
        )
    if options.executor == "dask":
        return _joined_study(operators, _on_cluster(folders, options, progress), options)
    parallel = max(1, min(options.jobs, len(folders)))
    width = max(1, options.jobs // parallel)
    incident_studies = [IncidentStudy(folder, operators, options, width, progress) for folder in folders]
    with ThreadPoolExecutor(parallel) as pool:
        futures = [pool.submit(incident_study.run) for incident_study in incident_studies]
        try:
            incidents = tuple(future.result() for future in futures)
        except BaseException:
            for future in futures:
                future.cancel()
            for incident_study in incident_studies:
                incident_study.stop()
            raise
    return _joined_study(
        operators,
        [
            (incident, incident_study.digest)
            for incident, incident_study in zip(incidents, incident_studies, strict=True)
        ],
        options,
    )


def _joined_study(
    operators: OperatorSet, studied: Sequence[tuple[StudiedIncident, str]], options: StudyOptions
) -> Study:
    """Return the study that has these incidents, each given with its digest."""
    incidents = tuple(incident for incident, _ in studied)
    if not any(incident.generated for incident in incidents):
        functions = ", ".join(
            f"{target.file}:{target.function}" for incident in incidents for target in incident.targets
        )
        raise UsageError(
            f"the operators {operators.name} find nothing to change in {functions}; name others with --operators, or"
            " another function with --tool"
        )
    digest = hashlib.sha256("\n".join(digest for _, digest in studied).encode()).hexdigest()[:16]
    tried = {method for incident in incidents for result in incident.results for method in result.verdicts}
    names = [name for name, _ in options.baselines]
    return Study(
        operators=operators.name,
        digest=digest,
        methods=tuple(method for method in (*METHODS[:2], *names, *METHODS[2:]) if method in tried),
        incidents=incidents,
        shard=options.shard,
    )


def _on_cluster(
    folders: Sequence[Path], options: StudyOptions, progress: Progress
) -> list[tuple[StudiedIncident, str]]:
    """Study each incident in a task of its own. The journals are in the same folder as on one machine."""
    with_absolute_out = msgspec.structs.replace(options, out=os.path.abspath(options.out))
    names = [str(folder.resolve()) for folder in folders]
    return mapped(in_task, names, with_absolute_out, options.scheduler, options.jobs, progress)


def in_task(
    folder: str, options: StudyOptions, progress: Progress, stopping: Callable[[Callable[[], None]], None]
) -> tuple[StudiedIncident, str]:
    """Study one incident in a worker of a cluster, and return the results with their digest.

    It uses one server at a time, because other tasks use the other cores.

    Args:
        folder: the incident's folder.
        options: how the study is made.
        progress: is called when something was tried.
        stopping: is called with a function that stops the study.
    """
    check_folder(Path(folder))
    incident_study = IncidentStudy(Path(folder), operator_set(options.operators), options, 1, progress)
    stopping(incident_study.stop)
    return incident_study.run(), incident_study.digest
