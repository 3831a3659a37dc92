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
HARNESS = "examples/benchmark/harness.py"
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
        words = ["-m", HARNESS.removesuffix(".py").replace("/", "."), "--json", str(found)]
        said = _run(words, source)
        if said is not None:
            return f"its harness ends with {said}"
        return tuple(json.decode(found.read_bytes(), type=list[PeerRow]))


def fetched(folder: Path) -> Path | str:
    """Fetch and unpack its source."""
    words = ["download", "-qq", "--no-deps", "--no-binary", ":all:", "-d", str(folder), RELEASE]
    said = _run(["-m", "pip", *words], folder)
    archives = list(folder.glob("*.tar.gz"))
    if said is not None or not archives:
        return f"pip download {RELEASE} gives no source: {said}"
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    return next(each for each in folder.iterdir() if (each / "examples").is_dir())


def _run(words: list[str], folder: Path) -> str | None:
    """Run Python there; gives the last that it said where it failed."""
    try:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"nothing in {TIMEOUT:g} s"
    return (done.stderr.strip().splitlines() or ["nothing said"])[-1] if done.returncode else None
