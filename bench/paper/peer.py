"""agent-chronicle 0.5.0, run here on its own six by its own harness, whose source is fetched and not kept."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from msgspec import Struct, json

RELEASE = "agent-chronicle==0.5.0"
TIMEOUT = 300.0


class PeerRow(Struct, frozen=True):
    """One of its incidents, as its own harness counts; µs and bytes are for each crossing."""

    name: str
    crossings: int
    overhead_us_per_crossing: float
    bytes_per_crossing: float
    replay_live_crossings: int
    deterministic: bool
    detected: bool
    spec_gated: bool
    spec_benign: bool
    benign_survived: int
    benign_total: int


def run(folder: Path | None) -> tuple[PeerRow, ...] | str:
    """Run its harness; gives why it can't be run."""
    with tempfile.TemporaryDirectory() as scratch:
        source = folder or fetched(Path(scratch))
        if isinstance(source, str):
            return source
        found = Path(scratch) / "peer.json"
        done = subprocess.run(
            [sys.executable, "-m", "examples.benchmark.harness", "--json", str(found)],
            cwd=source,
            env={**os.environ, "PYTHONPATH": str(source)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if done.returncode:
            return f"its harness ends with {(done.stderr.strip().splitlines() or ['nothing said'])[-1]}"
        return tuple(json.decode(found.read_bytes(), type=list[PeerRow]))


def fetched(folder: Path) -> Path | str:
    """Fetch and unpack its source."""
    words = ["download", "-qq", "--no-deps", "--no-binary", ":all:", "-d", str(folder), RELEASE]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words], capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    archives = list(folder.glob("*.tar.gz"))
    if done.returncode or not archives:
        return f"pip download {RELEASE} gives no source: {(done.stderr.strip().splitlines() or [''])[-1]}"
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    return next(each for each in folder.iterdir() if (each / "examples").is_dir())
