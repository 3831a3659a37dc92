"""The folders that may hold the contents of a trace's snapshots."""

from __future__ import annotations

from autochron._runtime.unpatched import os
from autochron.config import default_store
from autochron.effects.snapshots import SnapshotFolder, folder_of_store
from autochron.model import Rules
from autochron.reproduction.baseline import read_baseline


def snapshot_places(reference: str, store: str | None, rules: Rules) -> tuple[SnapshotFolder, ...]:
    """Return the folders that may hold the contents of a trace's snapshots, in the order in which to look.

    Args:
        reference: the path of a trace file, or the name of a trace in a store.
        store: the URL of the store; None for the default one.
        rules: the rules of the replay.
    """
    urls = [reference] if reference.endswith(".jsonl") else []
    if urls:
        baseline = read_baseline(reference)
        if baseline is not None and baseline.snapshots is not None:
            urls.append(os.path.join(os.path.dirname(reference), baseline.snapshots, os.pardir, "traces.db"))
    urls += [store or default_store(rules.file)]
    if rules.root:  # an incident's rules lie in another folder than the project's store
        urls.append(default_store(None, rules.root))
    folders = (folder_of_store(url) for url in urls)
    return tuple({folder.path: folder for folder in folders if folder is not None}.values())
