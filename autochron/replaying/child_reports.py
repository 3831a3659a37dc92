"""What the child processes of a replay tell the first one: a file each, of lines that are written at once.

Written and not sent: a process that is killed has told all that it came to, and nobody has to listen meanwhile.
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

_CLAIM = ".lane"


class ChildEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line."""

    kind: Literal[
        "began", "crossed", "replayed", "met", "released", "closed", "note", "problem", "swapped", "ended"
    ]
    seq: int = 0
    lane: str = ""
    process: int = 0
    divergence: Divergence | None = None
    replayed: Replayed | None = None
    """A crossing that did not go as it was recorded."""
    text: str = ""


_decode = msgspec.json.Decoder(ChildEvent).decode


class ChildReport:
    """What this process tells; a fault of the disk is passed over, since the first process finds what is missing."""

    def __init__(self, folder: str, lane: str) -> None:
        process = unpatched.getpid()
        name = f"{process}-{unpatched.perf_counter_ns():x}{_ENDING}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        with undisturbed():
            self._file = os.open(os.path.join(folder, name), flags, 0o600)
        self.tell(ChildEvent(kind="began", lane=lane, process=process))

    def tell(self, event: ChildEvent) -> None:
        """Write one line."""
        try:
            os.write(self._file, msgspec.json.encode(event) + b"\n")
        except OSError:
            return


def read_reports(folder: str) -> list[list[ChildEvent]]:
    """Read what every process told so far, line by line; a line that is cut off tells nothing."""
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
    """Return the lanes of the processes that have come."""
    return {events[0].lane for events in read_reports(folder)}


def claim(folder: str, lane: str, label: str) -> str:
    """Return the lane of a process that begins, as a store does that it joins."""
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
    """Remove the folder of a replay that is over."""
    try:
        for entry in os.scandir(folder):
            if entry.name.endswith(_CLAIM):
                os.rmdir(entry.path)
            else:
                os.unlink(entry.path)
        os.rmdir(folder)
    except OSError:
        return
