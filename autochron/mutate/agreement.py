"""A sample of the mutants, tried by plain cosmic-ray to check our own verdicts.

It uses cosmic-ray's own distributor: for each mutant a file is changed on disk, and pytest runs in a process of its
own. Both happen in a copy of the project.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from autochron.errors import UsageError
from autochron.mutate.canary import canary_source
from autochron.mutate.model import Mutant, MutationTarget
from autochron.mutate.project_copy import copied, root_of, too_large

if TYPE_CHECKING:
    from cosmic_ray.work_item import WorkItem

_TIMEOUT = 120
"""Seconds that cosmic-ray gives the tests."""

_PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "autochron")

_CONFIG = """\
[cosmic-ray]
module-path = "{file}"
timeout = {timeout}
excluded-modules = []
test-command = "{python} {pytest} {folder}"

[cosmic-ray.distributor]
name = "local"
"""


def refuse_unknown_operators(operators: Sequence[str]) -> None:
    """Check that plain cosmic-ray knows the operators.

    Raises:
        UsageError: it does not know ours, because autochron is imported without being installed.
    """
    known = {entry.name for entry in entry_points(group="cosmic_ray.operator_providers")}
    if any(operator.startswith("autochron/") for operator in operators) and "autochron" not in known:
        raise UsageError(
            "plain cosmic-ray does not know the operators of autochron, for autochron is imported from a folder and not"
            " installed; install it (`pip install -e .` in that folder), or say --crosscheck 0"
        )


def obstacle(folder: Path, targets: Sequence[MutationTarget], sources: Mapping[str, str]) -> str:
    """Return why plain cosmic-ray can't try mutants in a copy of the project; empty where it can.

    A copy of the incident's folder alone needs no trial. In a copy of the project around it, the tests have to pass with
    the fix, and to fail where a target raises: else they load the targets from elsewhere.

    Args:
        folder: the incident's folder.
        targets: the functions to mutate.
        sources: the text of each target's file, by its path from the folder.
    """
    root = root_of(folder, [target.file for target in targets])
    if root == folder:
        return ""
    reason = too_large(root)
    if reason:
        return reason
    with copied(root) as copy:
        copied_folder = copy / folder.relative_to(root)
        failure = _failure(copy, copied_folder)
        if failure:
            return f"its tests fail in a copy of {root}: {failure}"
        for target in targets:
            file = copied_folder / target.file
            file.write_text(canary_source(sources[target.file], target.function), encoding="utf-8")
            if not _failure(copy, copied_folder):
                return (
                    f"its tests load {target.file} from elsewhere than from a copy of {root}, such as from where the project"
                    " is installed"
                )
            file.write_text(sources[target.file], encoding="utf-8")
    return ""


def _failure(copy: Path, folder: Path) -> str:
    """Run the tests of an incident in a copy, and return the last line that they write if they fail."""
    process = subprocess.run(
        [sys.executable, "-B", *_PYTEST, str(folder)],
        cwd=copy,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if not process.returncode:
        return ""
    lines = (process.stdout.strip() or process.stderr.strip()).splitlines()
    reasons = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    return (reasons or lines[-1:] or ["it says nothing"])[0][:300]


def by_cosmic_ray(folder: Path, mutants: Sequence[Mutant]) -> Iterator[tuple[str, bool]]:
    """Yield the id of each mutant, and whether `cosmic-ray exec` kills it in a copy of the project.

    Args:
        folder: the incident's folder, for which there is no obstacle.
        mutants: the mutants to try.

    Raises:
        UsageError: cosmic-ray can't be run, so nothing was compared.
    """
    for mutant in mutants:
        root = root_of(folder, [mutant.target.file])
        with copied(root) as copy:
            yield mutant.id, _is_killed(copy, copy / folder.relative_to(root), mutant)


def _work_item(mutant: Mutant, file: str) -> WorkItem:
    """Return a mutant as cosmic-ray's own distributor takes it."""
    from cosmic_ray.work_item import MutationSpec, WorkItem  # lazy: as in `_is_killed`

    spec = MutationSpec(
        module_path=Path(file),
        operator_name=mutant.operator,
        operator_args=dict(mutant.arguments),
        occurrence=mutant.occurrence,
        start_pos=(mutant.line, mutant.column),
        end_pos=(mutant.end_line, mutant.end_column),
        definition_name=mutant.target.function,
    )
    return WorkItem(job_id=mutant.id, mutations=(spec,))


def _is_killed(copy: Path, folder: Path, mutant: Mutant) -> bool:
    """Return whether `cosmic-ray exec` kills a mutant in a copy of the project.

    Args:
        copy: the copy.
        folder: the incident's folder in it.
        mutant: the mutant.
    """
    # lazy: SQLAlchemy takes half a second to import, and few mutants are sampled
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import TestOutcome, WorkerOutcome

    config, session = copy / "cosmic-ray.toml", copy / "session.sqlite"
    file = (folder / mutant.target.file).resolve().relative_to(copy).as_posix()
    text = _CONFIG.format(
        file=file,
        timeout=_TIMEOUT,
        python=sys.executable,
        pytest=" ".join(_PYTEST),
        folder=folder.relative_to(copy).as_posix(),
    )
    config.write_text(text, encoding="utf-8")
    with use_db(session, WorkDB.Mode.create) as database:
        database.add_work_item(_work_item(mutant, file))
    process = subprocess.run(
        [sys.executable, "-m", "cosmic_ray.cli", "exec", config.name, session.name],
        cwd=copy,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * _TIMEOUT,
        check=False,
    )
    with use_db(session, WorkDB.Mode.open) as database:
        results = dict(database.results)
    result = results.get(mutant.id)
    if result is None or result.worker_outcome is not WorkerOutcome.NORMAL:
        output = result.output if result is not None and result.output else process.stderr or process.stdout
        last_line = (output.strip().splitlines() or ["nothing"])[-1]
        raise UsageError(
            f"plain cosmic-ray can't try mutant {mutant.id} ({mutant.operator}): {last_line}; mend"
            " that, or say --crosscheck 0"
        )
    return result.test_outcome is TestOutcome.KILLED
