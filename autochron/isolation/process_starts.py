"""Read the audit events by which a program starts another process.

The events of `os`, `subprocess` and `multiprocessing` have different arguments. The functions here read from each of them
the program, its words and its environment, and decide whether the new process will find autochron.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from autochron._runtime.frame_locals import locals_of
from autochron._runtime.unpatched import getframe, os
from autochron.crossing import processes
from autochron.crossing.lanes import label_of
from autochron.isolation import network

_FORKS = frozenset({"os.fork", "os.forkpty"})

_IGNORING = frozenset("SEI")
"""Options by which an interpreter skips `site`, or ignores the environment."""

_VALUED = frozenset("WX")
"""Options that are followed by a value, in the same word or in the next."""

_VALUED_WORDS = frozenset({"--check-hash-based-pycs", "--jit"})
"""Options whose value is the next word. The last is one of PyPy's."""

_MAX_FRAMES = 8
"""Frames that are searched between a fork and the function that calls it."""


def lane_label(event: str, arguments: tuple[Any, ...]) -> str:
    """Return the label of the lane of a process that is about to start, such as the name of its program or script."""
    if event == network.PROCESS:
        return label_of(arguments[1])
    if event in _FORKS:
        return "fork"
    if event == "os.system":
        words = network.words_of(network.text_of(arguments[0])) or [""]
        return processes.label_for(words[0], words)
    if event == "os.spawn":
        return processes.label_for(arguments[1], arguments[2])
    return processes.label_for(arguments[0], arguments[1])


def is_fork(event: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether the new process is a fork that goes on with this program, also one of `multiprocessing`."""
    return event in _FORKS or (event == network.PROCESS and arguments[0] == "fork")


def takes_part(event: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether a process that is about to start will join the session.

    A fork does, and so does a Python that reads our `.pth` file and gets our environment variable.
    """
    if event in _FORKS or event == network.PROCESS:
        return True
    if event == "os.system":
        return False  # the shell's own commands are not seen, even if it starts Python, too
    program, words, environment = _command_of(event, arguments)
    if (
        not os.path.basename(network.text_of(program)).startswith(("python", "pypy"))
        or find_pth_file() is None
    ):
        return False
    if _ignores_us([network.text_of(word) for word in words or ()][1:]):
        return False
    return environment is None or any(network.text_of(name) == processes.VARIABLE for name in environment)


def _ignores_us(words: Sequence[str]) -> bool:
    """Return whether the words after an interpreter's name keep it from loading autochron: `-S`, `-E` or `-I`."""
    words_left = iter(words)
    for word in words_left:
        if word in {"-", "--"} or not word.startswith("-"):
            return False
        if word in _VALUED_WORDS:
            next(words_left, None)
            continue
        for end, letter in enumerate("" if word.startswith("--") else word[1:], 2):
            if letter in _IGNORING:
                return True
            if letter in "cm":
                return False
            if letter in _VALUED:
                if end == len(word):
                    next(words_left, None)
                break
    return False


def spawned_by_fork(event: str) -> tuple[Any, Any, Any] | None:
    """Return the program, words and environment of an `os.spawn*` call that is implemented by the fork of this event.

    Returns:
        None where the fork has another caller, or the event is no fork.
    """
    frame: Any = getframe(1) if event == "os.fork" else None
    for _ in range(_MAX_FRAMES):
        if frame is None:
            return None
        if frame.f_code.co_name == "_spawnvef" and frame.f_globals.get("__name__") == "os":
            variables = locals_of(frame)
            return variables["file"], variables["args"], variables["env"]
        frame = frame.f_back
    return None


def _command_of(event: str, arguments: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Return the program, words and environment of an event that starts a program.

    The environment is None where the process inherits that of this one.
    """
    if event == "os.spawn":
        _, program, words, environment = arguments[:4]
        return program, words, environment
    if event in {"os.posix_spawn", "os.exec"}:
        program, words, environment = arguments[:3]
        return program, words, environment
    program, words, _, environment = arguments[:4]
    return program, words, environment


def find_pth_file() -> str | None:
    """Return the path of the `.pth` file by which new interpreters load autochron; None where it is not installed."""
    for folder in sys.path:
        file = os.path.join(folder, "autochron_children.pth")
        if os.path.isfile(file):
            return file
    return None
