"""The record of judgements: a trace file with one crossing for each, sorted by question and not by time.

The file is therefore the same, whichever worker of a test suite judged what, and when. It is replaced as a whole under a
lock, so that writers in several processes do not lose each other's judgements.
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
"""The name of the crossings."""

_TARGET = "autochron:judge"

_cache: dict[str, tuple[tuple[int, int, int], Header, dict[bytes, Envelope]]] = {}
"""For each path the file's state when it was read, its header, and its judgements by input."""


def judgements(path: str) -> Mapping[bytes, Envelope]:
    """Return the judgements of a file by input; empty if there is no file.

    Raises:
        TraceFormatError: the file was truncated or edited.
        StoreError: the file can't be read, or is the trace of a program.
    """
    return _load(path)[1]


def keep(path: str, envelope: Envelope, *, replace: bool) -> Envelope:
    """Write a judgement into the record.

    Args:
        path: the path of the file.
        envelope: the judgement.
        replace: whether it replaces one of the same question.

    Returns:
        The judgement that is in the record now. It is another writer's if that was first and `replace` is false.

    Raises:
        TraceFormatError: the file was truncated or edited.
        StoreError: the file can't be read or written, or is the trace of a program.
    """
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder or ".", exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} can't be made ({error.strerror}); give another path") from error
    with locked(path):
        header, recorded = _load(path)
        present = recorded.get(envelope.input)
        if present is not None and not replace:
            return present
        judgements_by_input = {**recorded, envelope.input: envelope}
        numbered = tuple(
            structs.replace(judgements_by_input[key], seq=number, nth=number)
            for number, key in enumerate(sorted(judgements_by_input), 1)
        )
        header = header or _header()
        write_trace(Trace(header, numbered, Footer()), path)
        state = _state(path)
        if state is not None:
            _cache[path] = (state, header, {judgement.input: judgement for judgement in numbered})
    return envelope


def describe_nearest(path: str, wanted: bytes) -> str | None:
    """Describe the recorded judgement that is nearest to a question, and where they first differ.

    Args:
        path: the path of the file.
        wanted: the input of the question, as `Question.input` has it.

    Returns:
        A part of a sentence; None if the file has no judgement.
    """
    envelopes = judgements(path)
    if not envelopes:
        return None
    question_fields = _fields(wanted)
    nearest = max(
        envelopes.values(), key=lambda judgement: _likeness(_fields(judgement.input), question_fields)
    )
    difference = first_difference(nearest.input, wanted)
    if difference is None:
        return None
    field, recorded_value, asked_value = difference
    return f"the nearest, {nearest.address}, differs at {field}: recorded {recorded_value}, now {asked_value}"


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
    cached = _cache.get(path)
    if cached is None or cached[0] != state:
        trace = read_trace(path)
        if trace.header.command.target != _TARGET:
            raise StoreError(f"{path} is the trace of a program; give judgements a file of their own")
        cached = _cache[path] = (
            state,
            trace.header,
            {judgement.input: judgement for judgement in trace.envelopes},
        )
    return cached[1], cached[2]


def _state(path: str) -> tuple[int, int, int] | None:
    """Return a file's inode, modification time in nanoseconds and size in bytes; None if there is no file."""
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
    """Return autochron's version, from its metadata: the package itself is above all layers, so it can't be imported here."""
    try:
        return version("autochron")
    except PackageNotFoundError:  # a checkout that is not installed
        return ""
