"""Where the contents of a trace's snapshots may be."""

from __future__ import annotations

from autochron._runtime.unpatched import os
from autochron.config import default_store
from autochron.effects.snapshots import SnapshotFolder, folder_of_store
from autochron.model import Rules
from autochron.reproduction.baseline import read_baseline


def snapshot_places(reference: str, store: str | None, rules: Rules) -> tuple[SnapshotFolder, ...]:
    """Return the folders in which the contents of a trace's snapshots may be."""
    urls = [reference] if reference.endswith(".jsonl") else []
    if urls:
        baseline = read_baseline(reference)
        if baseline is not None and baseline.snapshots is not None:
            urls.append(os.path.join(os.path.dirname(reference), baseline.snapshots, os.pardir, "traces.db"))
    urls += [store or default_store(rules.file)]
    if rules.root:  # an incident's rules stand elsewhere than the project's store
        urls.append(default_store(None, rules.root))
    found = (folder_of_store(url) for url in urls)
    return tuple({each.path: each for each in found if each is not None}.values())
