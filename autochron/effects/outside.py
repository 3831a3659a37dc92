"""Effects outside every boundary: what a program changes by lines that no rule reaches, each by its line and once.

The same collector hears of a recorded run and of its replay, by audit events. In the end each file and database is compared
by a digest of what it holds, with and without the times of day in it.
"""

from __future__ import annotations

import gc
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from autochron._runtime import unpatched
from autochron._runtime.lazy import late
from autochron._runtime.unpatched import os
from autochron.effects.databases import SIDE_FILES, Mark, database_path, mark_of
from autochron.effects.events import (
    CHANGED_PATHS,
    FOLLOWS_LINKS,
    SIGNAL_EVENTS,
    TEMPORARY_EVENTS,
    path_of_descriptor,
)
from autochron.effects.undisturbed import undisturbed
from autochron.model import OutsideEffect

MOST = 1_000
"""Effects of one run that are noted."""

MOST_COMPARED = 16 << 20
"""Bytes of a file or database that are compared."""

ABSENT = "absent"
"""The digest of what is not there."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_KERNEL = ("/dev/", "/proc/", "/sys/")
_OF_TOOLS = late(
    r"/(\.autochron|\.git|\.hg|\.svn|\.?venv[^/]*|\.tox|\.nox|node_modules|site-packages|__pycache__|"
    r"\.(pytest|mypy|ruff|hypothesis)(_cache)?|\.coverage[^/]*)(/|$)|\.py[co]$"
)
_WORDS = {
    "open": "writes",
    "os.remove": "removes",
    "os.rename": "moves",
    "os.link": "links",
    "os.symlink": "links",
    "os.truncate": "truncates",
    "os.mkdir": "makes the folder",
    "os.rmdir": "removes the folder",
    "shutil.rmtree": "removes the folder",
    "os.chmod": "changes the mode of",
    "os.chown": "changes the owner of",
    "os.utime": "changes the time of",
    "os.setxattr": "changes an attribute of",
    "os.removexattr": "changes an attribute of",
    "sqlite3.connect": "changes the database",
}
_TIMES = late(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d:\d\d([.,]\d+)?|"
    r"\b1[6-9]\d{8}(\.\d+|\d{3,9})?\b|\b\d+(\.\d+)? ?(ns|us|µs|ms|s|sec|seconds)\b"
)
"""Times of day, moments and durations, as logs write them."""


class OutsideEffects:
    """The effects of one run, by what they change."""

    def __init__(
        self,
        name: Callable[[str], str],
        site: Callable[[], tuple[str, str]],
        *,
        own: Iterable[str] = (),
        real: Callable[[str], str] = lambda path: path,
        now_at: Callable[[str], str | None] = lambda path: path,
        existed: Callable[[str], bool] = os.path.lexists,
    ) -> None:
        """Take how what is changed is known.

        Args:
            name: gives the name by which a path is known to people.
            site: gives the project's line that runs now, and its function as `module:qualname`; "" where there is none.
            own: our own files.
            real: gives the path that the program means, for one of a scratch folder.
            now_at: gives the file with what a path holds now.
            existed: tells whether a path was there before the program changed it.
        """
        self._name = name
        self._site = site
        self._own = tuple(os.path.realpath(each) for each in own)
        self._real = real
        self._now_at = now_at
        self._existed = existed
        self._temporary: tuple[str, ...] = ()
        self._found: dict[tuple[str, str], OutsideEffect] = {}
        self._inside: set[str] = set()
        """Paths that a boundary has changed, too: what they hold in the end is not of these lines alone."""
        self._made: set[str] = set()
        """Paths at which there was nothing."""
        self._outside: set[str] = set()
        """Databases that were changed while no boundary was open."""
        self._marks: dict[str, Mark] = {}
        self.has_crossed = False
        self._lock = unpatched.RLock()

    def __len__(self) -> int:
        return len(self._found)

    def paths(self) -> set[str]:
        """Return the paths that were heard of, also of a library's own files."""
        return {what for kind, what in self._found if kind in _STATE}

    def heard(self, event: str, arguments: tuple[Any, ...], *, inside: bool) -> None:
        """Take in an audit event; `inside` tells whether a boundary is open around what runs."""
        if event in TEMPORARY_EVENTS:
            self._temporary += (os.path.realpath(os.fsdecode(arguments[0])),)
            return
        if event in SIGNAL_EVENTS:
            if not inside and is_signal_to_others(event, arguments):
                self.note("signal", "sends", f"signal {int(arguments[1])} to a process")
            return
        with undisturbed():
            for path in paths_changed(event, arguments):
                self._changed(event, self._real(path), inside=inside)

    def crossing_began(self) -> None:
        """Take in that the first boundary is about to open: what was changed up to now was changed outside."""
        self.has_crossed = True
        if self._marks:
            self._outside |= self._newly_changed()

    def crossing_ended(self) -> None:
        """Take in that no boundary is open any more: what was changed meanwhile was changed inside."""
        if self._marks:
            self._inside |= self._newly_changed()

    def _newly_changed(self) -> set[str]:
        found = set()
        with undisturbed():
            for path, mark in list(self._marks.items()):
                now = mark_of(self._now_at(path) or path)
                if now != mark:
                    self._marks[path] = now
                    found.add(path)
        return found

    def note(self, kind: Any, does: str, what: str) -> OutsideEffect | None:
        """Note an effect once; return it where it is new."""
        with self._lock:
            if (kind, what) in self._found or len(self._found) >= MOST:
                return None
            site, function = self._site()
            if kind in _STATE and not self._existed(what):
                self._made.add(what)
            made = OutsideEffect(kind=kind, does=does, what=what, site=site or "?", function=function)
            self._found[kind, what] = made
            return made

    def effects(self) -> tuple[OutsideEffect, ...]:
        """Return what was noted, with digests of what files and databases hold now."""
        with self._lock, undisturbed():
            found = list(self._found.items())
            files = {what for kind, what in self._found if kind in ("file", "database")}
            if files:
                self._outside |= self._newly_changed()
                _flush(files)
                # It waited in a file object: whether a boundary wrote it is not known.
                waited = self._newly_changed()
                self._inside |= waited if self.has_crossed else set()
                self._outside |= waited
            effects = [self._ended(path, effect) for (_, path), effect in found]
        return tuple(each for each in effects if each is not None)

    # --- inside

    def _changed(self, event: str, path: str, *, inside: bool) -> None:
        if path.endswith(SIDE_FILES) and os.path.exists(path.rpartition("-")[0]):
            return
        if path.startswith(self._own) or not is_state(path) or "/pymp-" in path:
            return
        if any(path == each or path.startswith(f"{each}/") for each in self._temporary):
            return
        if inside:
            self._inside.add(path)
            return
        kind = "database" if event == "sqlite3.connect" else "file"
        if kind == "file" and ("database", path) in self._found:
            return
        made = self.note(kind, _WORDS.get(event, "changes"), path)
        if made is not None:
            self._marks[path] = mark_of(self._now_at(path) or path)

    def _ended(self, path: str, effect: OutsideEffect) -> OutsideEffect | None:
        """Return an effect with what became of the path; None where a database was only read."""
        if effect.kind not in ("file", "database"):
            return effect
        if effect.kind == "database" and path not in self._outside:  # to open it changes nothing
            return None
        shown = self._name(path)
        if effect.site == "?" and os.path.isabs(shown):  # a library's own, such as a cache
            return None
        digest, rough = digests_of(self._now_at(path))
        if digest == ABSENT and path in self._made:  # of the moment
            return None
        if path in self._inside:
            return _with(effect, what=shown, digest="", rough="", reason="a boundary changes it, too")
        if not digest:
            return _with(effect, what=shown, digest="", rough="", reason="it is too large")
        return _with(effect, what=shown, digest=digest, rough=rough)


def _with(effect: OutsideEffect, **more: Any) -> OutsideEffect:
    from msgspec.structs import replace  # lazy: most programs have none

    return replace(effect, **more)


def is_state(path: Any) -> bool:
    """Return whether a path is none of the kernel's, of Python's compiled code or of a tool's own folders."""
    text = os.path.abspath(os.fsdecode(path))
    return not text.startswith(_KERNEL) and _OF_TOOLS.search(text) is None


def paths_changed(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """Return the absolute paths that an event is about to change."""
    if event == "open":
        path, _, flags = (*arguments, 0, 0)[:3]
        if not (flags or 0) & _WRITES or not isinstance(path, (str, bytes, os.PathLike)):
            return []
        return [_absolute(path, follow=True)]
    if event == "sqlite3.connect":
        found, options = database_path(arguments[0], is_uri=True)
        return [] if found is None or "mode=ro" in options else [_absolute(found, follow=True)]
    paths = []
    for at, folder_at in CHANGED_PATHS.get(event, ()):
        given = arguments[at]
        if isinstance(given, int):
            given = path_of_descriptor(given)
        if not isinstance(given, (str, bytes, os.PathLike)):
            continue
        folder = arguments[folder_at] if folder_at is not None and folder_at < len(arguments) else -1
        text = os.fsdecode(given)
        if isinstance(folder, int) and folder >= 0 and not os.path.isabs(text):
            text = os.path.join(path_of_descriptor(folder) or "", text)
        paths.append(_absolute(text, follow=event in FOLLOWS_LINKS))
    return paths


def _absolute(path: Any, *, follow: bool) -> str:
    text = os.path.abspath(os.fsdecode(path))
    if follow:
        return os.path.realpath(text)
    return os.path.join(os.path.realpath(os.path.dirname(text)), os.path.basename(text))


def is_signal_to_others(event: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether a signal goes to a process that is neither this one nor one that it has started."""
    process, number = int(arguments[0]), int(arguments[1])
    if number == 0:  # asks whether it is there
        return False
    if event == "os.killpg":
        return process not in (0, os.getpgrp())
    if process in (0, unpatched.getpid()):
        return False
    if process < 0:
        return -process != os.getpgrp()
    return not _descends(process)


def _descends(process: int) -> bool:
    """Return whether a process was started by this one, or by one that it has started; or is gone, and hears nothing."""
    above = process
    with undisturbed():
        while above > 1:
            if above == unpatched.getpid():
                return True
            try:
                with open(f"/proc/{above}/stat", "rb") as file:
                    above = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                return not os.path.exists(f"/proc/{process}") and os.path.exists("/proc/self")
    return False


def digests_of(path: str | None) -> tuple[str, str]:
    """Return digests of what a path holds, the second without times; empty where it is too large to be read."""
    if path is None or not os.path.lexists(path):
        return ABSENT, ABSENT
    if os.path.islink(path):
        target = f"link {os.readlink(path)}"
        return target, target
    if os.path.isdir(path):
        return "folder", "folder"
    import hashlib  # lazy: 3 ms, and few programs have effects
    import json

    from autochron.effects.changes import read_state

    if os.path.getsize(path) > MOST_COMPARED:
        return "", ""
    text = json.dumps(read_state(path), sort_keys=True, default=str)
    return tuple(  # type: ignore[return-value]  # two of them
        hashlib.sha256(each.encode("utf-8", "surrogatepass")).hexdigest()
        for each in (text, _TIMES.sub("", text))
    )


def without_times(text: str) -> str:
    """Return a text without times of day, moments and durations."""
    return _TIMES.sub("", text)


def _flush(paths: set[str]) -> None:
    """Write what waits in file objects of the program that are still open: their content is about to be compared."""
    for each in gc.get_objects():
        if type(each) not in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom):
            continue
        try:
            name = each.name
            if (
                isinstance(name, str)
                and not each.closed
                and each.writable()
                and os.path.realpath(name) in paths
            ):
                each.flush()
        except (OSError, ValueError, AttributeError):  # closed meanwhile, or detached
            continue


# --- compared ------------------------------------------------------------------------------------------------------------


Severity: TypeAlias = Literal["error", "notice"]


class OutsideDifference(NamedTuple):
    """One thing in which the effects of a replay are others."""

    effect: OutsideEffect
    severity: Severity
    """`notice` where only times differ, or nothing could be compared."""
    message: str


def differences(
    recorded: Sequence[OutsideEffect],
    now: Sequence[OutsideEffect],
    digests: Callable[[str], tuple[str, str]],
) -> list[OutsideDifference]:
    """Return in what the files and databases of two runs differ that are changed outside every boundary.

    Args:
        recorded: the effects of the recorded run.
        now: those of the replay.
        digests: gives the digests of what a path holds in the replay, by its name for people.
    """
    found = []
    known = {each.what for each in recorded if each.kind in _STATE}
    for effect in recorded:
        if effect.kind not in _STATE:
            continue
        what, digest, rough = effect.what, *digests(effect.what)
        # Nobody's line: a library's, or a program's that a child was given as text.
        grave: Severity = "error" if effect.site != "?" else "notice"
        if not effect.digest or not digest:
            reason = effect.reason or "what it held before the recorded run is not here"
            found.append(OutsideDifference(effect, "notice", f"what {what} holds is not compared: {reason}"))
        elif digest == effect.digest:
            continue
        elif rough == effect.rough:
            message = f"{what} has other times in it than when it was recorded; else it is the same"
            found.append(OutsideDifference(effect, "notice", message))
        elif digest == ABSENT:
            message = f"{effect.site} {effect.does} {what} no more, as it did when it was recorded"
            found.append(OutsideDifference(effect, grave, message))
        else:
            message = (
                f"{what} does not hold what it held when it was recorded; it is written at {effect.site}"
            )
            found.append(OutsideDifference(effect, grave, message))
    for effect in now:
        if effect.kind in _STATE and effect.what not in known:
            grave = "error" if effect.site != "?" else "notice"
            message = f"{effect.site} {effect.does} {effect.what}, which it did not when it was recorded"
            found.append(OutsideDifference(effect, grave, message))
    return found


_STATE = ("file", "database")
