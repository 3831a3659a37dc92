"""The reports of a replay's child processes to the first process: a file for each child, with a line for each event.

The events are written to files, and not sent. So nothing is lost of a child that is killed, and the first process
need not listen.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal

import msgspec
from msgspec import Struct

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.undisturbed import undisturbed
from autochron.model import Divergence, Replayed

_ENDING = ".report"
"""The suffix of a report's file."""

_CLAIM = ".lane"
"""The suffix of the empty folder that claims a lane."""


class ChildEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a report. Which fields are set depends on its kind."""

    kind: Literal[
        "began", "crossed", "replayed", "met", "released", "closed", "note", "problem", "swapped", "ended"
    ]
    seq: int = 0
    lane: str = ""
    process: int = 0
    divergence: Divergence | None = None
    replayed: Replayed | None = None
    """A crossing that differs from its record, or that has none."""
    text: str = ""


_decode = msgspec.json.Decoder(ChildEvent).decode


class ChildReport:
    """The report of this process. Write errors are ignored: the first process notices what is missing."""

    def __init__(self, folder: str, lane: str) -> None:
        """Create the file, and report that the process has begun.

        Args:
            folder: that of the replay.
            lane: the lane of this process.

        Raises:
            OSError: the file can't be created.
        """
        process = unpatched.getpid()
        name = f"{process}-{unpatched.perf_counter_ns():x}{_ENDING}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        with undisturbed():
            self._file = os.open(os.path.join(folder, name), flags, 0o600)
        self.write(ChildEvent(kind="began", lane=lane, process=process))

    def write(self, event: ChildEvent) -> None:
        """Write one event."""
        try:
            os.write(self._file, msgspec.json.encode(event) + b"\n")
        except OSError:
            return


def read_reports(folder: str) -> list[list[ChildEvent]]:
    """Return the events that each child process has reported so far. A line that is cut off is left out.

    Each list begins with the event `began`.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_ENDING))
    except OSError:
        return []
    reports = []
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            lines = file.read().split(b"\n")[:-1]
        if lines:
            reports.append([_decode(line) for line in lines])
    return reports


def read_lanes(folder: str) -> set[str]:
    """Return the lanes of the child processes that have begun."""
    return {events[0].lane for events in read_reports(folder)}


def claim(folder: str, lane: str, label: str) -> str:
    """Claim a lane for a process that begins, and return it.

    The numbering is that of a recording, in which the store gives out the lanes.

    Args:
        folder: that of the replay.
        lane: the lane that was prepared for the process; with a label, the lane that it was started from.
        label: the label of a new lane below; empty to take `lane` itself if it is free.
    """
    if not label:
        label = lane.rpartition("/")[2].rpartition(".")[0]
        if _claimed(folder, lane):
            return lane
    nth = 1
    while not _claimed(folder, f"{lane}/{label}.{nth}"):
        nth += 1
    return f"{lane}/{label}.{nth}"


def _claimed(folder: str, lane: str) -> bool:
    try:
        os.mkdir(os.path.join(folder, blake2b(lane.encode(), digest_size=16).hexdigest() + _CLAIM))
    except FileExistsError:
        return False
    return True


def remove(folder: str) -> None:
    """Remove the folder of a replay that has ended."""
    try:
        for entry in os.scandir(folder):
            if entry.name.endswith(_CLAIM):
                os.rmdir(entry.path)
            else:
                os.unlink(entry.path)
        os.rmdir(folder)
    except OSError:
        return
