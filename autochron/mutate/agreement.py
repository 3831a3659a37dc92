"""A sample of the mutants, tried by plain cosmic-ray to check our own verdicts.

It uses cosmic-ray's own distributor: for each mutant a file is changed on disk, and pytest runs in a process of its
own.
"""

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
"""Seconds that cosmic-ray gives the tests."""

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
    """Yield the id of each mutant, and whether `cosmic-ray exec` kills it in a copy of the folder.

    Args:
        folder: the incident's folder.
        mutants: the mutants to try.

    Raises:
        UsageError: cosmic-ray can't be run or doesn't know our operators, so nothing was compared.
    """
    for mutant in mutants:
        with tempfile.TemporaryDirectory(prefix="autochron-") as scratch:
            copied = Path(scratch, folder.name)
            shutil.copytree(folder, copied, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            yield mutant.id, _is_killed(copied, mutant)


def _work_item(mutant: Mutant) -> WorkItem:
    """Return a mutant as cosmic-ray's own distributor takes it."""
    from cosmic_ray.work_item import MutationSpec, WorkItem  # lazy: as in `_is_killed`

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
    # lazy: SQLAlchemy takes half a second to import, and few mutants are sampled
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
    process = subprocess.run(
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
        output = result.output if result is not None and result.output else process.stderr or process.stdout
        last_line = (output.strip().splitlines() or ["nothing"])[-1]
        raise UsageError(
            f"plain cosmic-ray can't try mutant {mutant.id} ({mutant.operator}): {last_line}; install autochron so that its"
            " operators are found (`pip install -e .`), or say --crosscheck 0"
        )
    return result.test_outcome is TestOutcome.KILLED
