"""A few mutants tried by plain cosmic-ray: its own distributor, a file changed on disk, a process of pytest for each."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autochron.errors import UsageError
from autochron.mutate.model import Mutant

if TYPE_CHECKING:
    from cosmic_ray.work_item import WorkItem

_TIMEOUT = 120

_CONFIG = """\
[cosmic-ray]
module-path = "{file}"
timeout = {timeout}
excluded-modules = []
test-command = "{python} -m pytest -x -q -p no:cacheprovider -m autochron ."

[cosmic-ray.distributor]
name = "local"
"""


def by_cosmic_ray(folder: Path, mutants: Sequence[Mutant]) -> Iterator[tuple[str, bool]]:
    """Yield the id of each mutant, and whether `cosmic-ray exec` calls it killed, in a copy of the folder.

    Raises:
        UsageError: it can't be run, or doesn't know our operators: then nothing was compared, which is no agreement.
    """
    for mutant in mutants:
        with tempfile.TemporaryDirectory(prefix="autochron-") as scratch:
            copy = Path(scratch, folder.name)
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            yield mutant.id, _is_killed(copy, mutant)


def _work_item(mutant: Mutant) -> WorkItem:
    """Return a mutant as cosmic-ray's own distributor takes it."""
    from cosmic_ray.work_item import MutationSpec, WorkItem  # lazy: as below

    spec = MutationSpec(
        module_path=Path(mutant.target.file),
        operator_name=mutant.operator,
        operator_args=dict(mutant.arguments),
        occurrence=mutant.occurrence,
        start_pos=(mutant.line, mutant.column),
        end_pos=(mutant.end_line, mutant.end_column),
        definition_name=mutant.target.function,
    )
    return WorkItem(job_id=mutant.id, mutations=(spec,))


def _is_killed(folder: Path, mutant: Mutant) -> bool:
    # lazy: SQLAlchemy's half a second, and few mutants are sampled
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import TestOutcome, WorkerOutcome

    if mutant.target.file.startswith("../"):
        raise UsageError(
            f"{mutant.target.file} lies outside {folder.name}, so plain cosmic-ray can't try it in a copy; say --crosscheck 0"
        )
    config, session = folder / "cosmic-ray.toml", folder / "session.sqlite"
    config.write_text(
        _CONFIG.format(file=mutant.target.file, timeout=_TIMEOUT, python=sys.executable), encoding="utf-8"
    )
    with use_db(session, WorkDB.Mode.create) as database:
        database.add_work_item(_work_item(mutant))
    done = subprocess.run(
        [sys.executable, "-m", "cosmic_ray.cli", "exec", config.name, session.name],
        cwd=folder,
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
        said = result.output if result is not None and result.output else done.stderr or done.stdout
        last = (said.strip().splitlines() or ["nothing"])[-1]
        raise UsageError(
            f"plain cosmic-ray can't try mutant {mutant.id} ({mutant.operator}): {last}; install autochron so that its"
            " operators are found (`pip install -e .`), or say --crosscheck 0"
        )
    return result.test_outcome is TestOutcome.KILLED
