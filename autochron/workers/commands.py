"""Start commands of ours in an interpreter of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO, TypeAlias

Stream: TypeAlias = int | IO[bytes]
"""What `subprocess` takes as a standard stream."""


def start_python(
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: Stream = subprocess.DEVNULL,
    stdout: Stream = subprocess.DEVNULL,
    stderr: Stream = subprocess.DEVNULL,
    folder: str | None = None,
    keep_open: Sequence[int] = (),
    own_session: bool = True,
) -> subprocess.Popen[bytes]:
    """Start this interpreter with some words. Standard streams that are not passed are the null device.

    Args:
        words: what follows the interpreter's path, such as `-m` and a module.
        environment: all of its environment.
        stdin: its standard input.
        stdout: its standard output.
        stderr: its standard error.
        folder: its working folder; None for that of this process.
        keep_open: the descriptors that it inherits beside its standard streams.
        own_session: whether it leads a session, and so a process group. Then signals to our group don't reach it, and
            it can be killed with all that it has started.
    """
    return subprocess.Popen(
        [sys.executable, *words],
        env=environment,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=folder,
        pass_fds=keep_open,
        start_new_session=own_session,
    )
