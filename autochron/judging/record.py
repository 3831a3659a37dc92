"""The judgements that are kept: a trace file with one crossing each, in order of their questions and not of their making.

So the file is the same whichever worker of a suite judged what, and when. It is replaced as a whole under a lock: writers in
several processes lose nothing of each other's.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import msgspec
from msgspec import structs

from autochron._runtime import unpatched
from autochron._runtime.growing_bodies import common_prefix, common_suffix
from autochron.diff.json import first_difference
from autochron.errors import StoreError
from autochron.model import Command, Envelope, Footer, Header, Trace
from autochron.store.ids import new_id
from autochron.store.locking import locked
from autochron.store.tracefile import read_trace, write_trace

NAME = "judge"
"""What the crossings are called."""

_TARGET = "autochron:judge"

_read: dict[str, tuple[tuple[int, int, int], Header, dict[bytes, Envelope]]] = {}
"""What was read of each file, and of which state of it."""


def judgements(path: str) -> Mapping[bytes, Envelope]:
    """Read the judgements of a file by their input; none where there is no file.

    Raises TraceFormatError where it was truncated or edited, StoreError where it holds something else.
    """
    return _load(path)[1]


def keep(path: str, envelope: Envelope, *, replace: bool) -> Envelope:
    """Keep a judgement, and give the one that stands: another writer may have been first, unless it is to be replaced."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder or ".", exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} can't be made ({error.strerror}); give another path") from error
    with locked(path):
        header, found = _load(path)
        standing = found.get(envelope.input)
        if standing is not None and not replace:
            return standing
        kept = {**found, envelope.input: envelope}
        numbered = tuple(
            structs.replace(kept[key], seq=number, nth=number) for number, key in enumerate(sorted(kept), 1)
        )
        header = header or _header()
        write_trace(Trace(header, numbered, Footer()), path)
        state = _state(path)
        if state is not None:
            _read[path] = (state, header, {each.input: each for each in numbered})
    return envelope


def describe_nearest(path: str, wanted: bytes) -> str | None:
    """Say which judgement of a file is nearest to a question, and where they first differ; None where there is none."""
    found = judgements(path)
    if not found:
        return None
    asked = _fields(wanted)
    nearest = max(found.values(), key=lambda each: _likeness(_fields(each.input), asked))
    difference = first_difference(nearest.input, wanted)
    if difference is None:
        return None
    field, recorded, now = difference
    return f"the nearest, {nearest.address}, differs at {field}: recorded {recorded}, now {now}"


def _likeness(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> tuple[int, float]:
    """Compare by how many of model, rubric and subject are the same, then by how much of the text is."""
    same = sum(one.get(key) == value for key, value in other.items())
    shared = 0.0
    for key, value in other.items():
        mine = one.get(key, b"")
        limit = min(len(mine), len(value))
        prefix = common_prefix(mine, value, limit, 0)
        suffix = common_suffix(mine, value, limit - prefix, 0)
        shared += (prefix + suffix) / max(len(mine), len(value), 1)
    return same, shared


def _fields(body: bytes) -> dict[str, bytes]:
    return {
        key: bytes(value) for key, value in msgspec.json.decode(body, type=dict[str, msgspec.Raw]).items()
    }


def _load(path: str) -> tuple[Header | None, dict[bytes, Envelope]]:
    state = _state(path)
    if state is None:
        return None, {}
    known = _read.get(path)
    if known is None or known[0] != state:
        trace = read_trace(path)
        if trace.header.command.target != _TARGET:
            raise StoreError(f"{path} is the trace of a program; give judgements a file of their own")
        known = _read[path] = (state, trace.header, {each.input: each for each in trace.envelopes})
    return known[1], known[2]


def _state(path: str) -> tuple[int, int, int] | None:
    """Return what distinguishes one state of a file from another; None where it is not there."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path} can't be read ({error.strerror}); give another path") from error
    return status.st_ino, status.st_mtime_ns, status.st_size


def _header() -> Header:
    now = unpatched.time_ns()
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 1_000_000_000))
    return Header(
        id=new_id(),
        created=f"{seconds}.{now // 1_000_000 % 1000:03d}Z",
        command=Command("block", _TARGET),
        name="judgements",
        python=".".join(str(part) for part in sys.version_info[:3]),
        autochron=_version(),
    )


def _version() -> str:
    """Return our version; not from the package itself, which stands above all layers."""
    try:
        return version("autochron")
    except PackageNotFoundError:  # a checkout that is not installed
        return ""
