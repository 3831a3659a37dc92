"""Collect and compare effects outside every boundary: changes by lines of the program that no rule covers.

The same collector works for a recorded run and for its replay. Audit events report the changes, and each effect is
noted once, with its line. At the end each file and database is compared by two digests of its content: of all of it,
and of the content without times of day.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from autochron._runtime import unpatched
from autochron._runtime.lazy import late
from autochron._runtime.live_objects import instances_of
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
"""Most effects of one run that are noted."""

MOST_COMPARED = 16 << 20
"""Largest size in bytes of a file or database that is compared."""

ABSENT = "absent"
"""Stands for the digest of a path that does not exist."""

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
"""Matches dates, times of day, timestamps and durations as logs write them."""


class OutsideEffects:
    """Collects the effects of one run."""

    def __init__(
        self,
        name: Callable[[str], str],
        site: Callable[[], tuple[str, str]],
        *,
        own: Iterable[str] = (),
        keeps_books: Callable[[], bool] = lambda: False,
        real: Callable[[str], str] = lambda path: path,
        now_at: Callable[[str], str | None] = lambda path: path,
        existed: Callable[[str], bool] = os.path.lexists,
    ) -> None:
        """Set up with functions that say how paths and lines are known. The last three matter to a replay.

        Args:
            name: returns the name of a path in reports.
            site: returns the project's line that runs now, and its function as `module:qualname`; "" if there is none.
            own: autochron's own files, whose changes are not noted.
            keeps_books: returns whether a library runs now that writes a file for itself; that is not noted either.
            real: returns the program's path for a path in the scratch folder.
            now_at: returns the file with the current content of a path; None if there is none.
            existed: returns whether a path existed before the program changed it.
        """
        self._name = name
        self._site = site
        self._keeps_books = keeps_books
        self._own = tuple(os.path.realpath(path) for path in own)
        self._real = real
        self._now_at = now_at
        self._existed = existed
        self._temporary: tuple[str, ...] = ()
        self._noted: dict[tuple[str, str], OutsideEffect] = {}
        self._inside: set[str] = set()
        """Paths that a boundary has changed. Their final content does not come from outside lines alone."""
        self._created: set[str] = set()
        """Paths that did not exist before their first change."""
        self._outside: set[str] = set()
        """Paths that were changed while no boundary was open. It is read for databases, which may only be opened."""
        self._marks: dict[str, Mark] = {}
        """The latest mark of each noted path."""
        self.has_crossed = False
        """Whether a boundary has been open in this run."""
        self._lock = unpatched.RLock()

    def __len__(self) -> int:
        return len(self._noted)

    def paths(self) -> set[str]:
        """Return the paths of noted files and databases, including libraries' own files."""
        return {target for kind, target in self._noted if kind in _STATE}

    def heard(self, event: str, arguments: tuple[Any, ...], *, inside: bool) -> None:
        """Handle an audit event; `inside` says whether the running code is inside a boundary."""
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
        """Note that the first boundary is about to open: all changes up to now were made outside."""
        self.has_crossed = True
        if self._marks:
            self._outside |= self._newly_changed()

    def crossing_ended(self) -> None:
        """Note that the last open boundary has closed: the changes since it opened were made inside."""
        if self._marks:
            self._inside |= self._newly_changed()

    def _newly_changed(self) -> set[str]:
        """Return the noted paths whose marks have changed since the last call."""
        changed = set()
        with undisturbed():
            for path, mark in list(self._marks.items()):
                current = mark_of(self._now_at(path) or path)
                if current != mark:
                    self._marks[path] = current
                    changed.add(path)
        return changed

    def note(self, kind: Any, does: str, target: str) -> OutsideEffect | None:
        """Note an effect once.

        Args:
            kind: the effect's kind, see `OutsideEffect`.
            does: the verb in reports, such as `writes`.
            target: the path, or the signal in words.

        Returns:
            The effect; None if it is noted already, or if there are too many.
        """
        with self._lock:
            if (kind, target) in self._noted or len(self._noted) >= MOST:
                return None
            site, function = self._site()
            if kind in _STATE and not self._existed(target):
                self._created.add(target)
            effect = OutsideEffect(kind=kind, does=does, what=target, site=site or "?", function=function)
            self._noted[kind, target] = effect
            return effect

    def effects(self) -> tuple[OutsideEffect, ...]:
        """Return the noted effects, with digests of the current content of files and databases."""
        with self._lock, undisturbed():
            noted = list(self._noted.items())
            files = {target for kind, target in self._noted if kind in ("file", "database")}
            if files:
                self._outside |= self._newly_changed()
                _flush(files)
                # Nothing shows whether a boundary wrote the flushed data, so it counts as both.
                flushed = self._newly_changed()
                self._inside |= flushed if self.has_crossed else set()
                self._outside |= flushed
            effects = [self._ended(path, effect) for (_, path), effect in noted]
        return tuple(ended for ended in effects if ended is not None)

    # --- inside

    def _changed(self, event: str, path: str, *, inside: bool) -> None:
        if path.endswith(SIDE_FILES) and os.path.exists(path.rpartition("-")[0]):
            return
        if path.startswith(self._own) or not is_state(path) or "/pymp-" in path:
            return
        if any(path == temporary or path.startswith(f"{temporary}/") for temporary in self._temporary):
            return
        if inside:
            self._inside.add(path)
            return
        kind = "database" if event == "sqlite3.connect" else "file"
        if kind == "file" and ("database", path) in self._noted:
            return
        if self._keeps_books():
            return
        effect = self.note(kind, _WORDS.get(event, "changes"), path)
        if effect is not None:
            self._marks[path] = mark_of(self._now_at(path) or path)

    def _ended(self, path: str, effect: OutsideEffect) -> OutsideEffect | None:
        """Return an effect with the digests of its path's content; None if the effect is not worth a report.

        That is a database that was only read, a library's own file, and a path that was created and removed again.
        """
        if effect.kind not in ("file", "database"):
            return effect
        if effect.kind == "database" and path not in self._outside:  # opening it changed nothing
            return None
        shown = self._name(path)
        if effect.site == "?" and os.path.isabs(shown):  # a library's own file, such as a cache
            return None
        digest, rough = digests_of(self._now_at(path))
        if digest == ABSENT and path in self._created:  # created and removed again
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
    """Return whether a path can be state: not the kernel's, no compiled Python code, and in no tool's folder."""
    text = os.path.abspath(os.fsdecode(path))
    return not text.startswith(_KERNEL) and _OF_TOOLS.search(text) is None


def paths_changed(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """Return the absolute paths that an audit event announces to change."""
    if event == "open":
        path, _, flags = (*arguments, 0, 0)[:3]
        if not (flags or 0) & _WRITES or not isinstance(path, (str, bytes, os.PathLike)):
            return []
        return [_absolute(path, follow=True)]
    if event == "sqlite3.connect":
        database, options = database_path(arguments[0], is_uri=True)
        return [] if database is None or "mode=ro" in options else [_absolute(database, follow=True)]
    paths = []
    for path_at, folder_at in CHANGED_PATHS.get(event, ()):
        argument = arguments[path_at]
        if isinstance(argument, int):
            argument = path_of_descriptor(argument)
        if not isinstance(argument, (str, bytes, os.PathLike)):
            continue
        folder = arguments[folder_at] if folder_at is not None and folder_at < len(arguments) else -1
        text = os.fsdecode(argument)
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
    """Return whether a signal goes to a process other than this one and its descendants."""
    process, number = int(arguments[0]), int(arguments[1])
    if number == 0:  # signal 0 only asks whether the process exists
        return False
    if event == "os.killpg":
        return process not in (0, os.getpgrp())
    if process in (0, unpatched.getpid()):
        return False
    if process < 0:
        return -process != os.getpgrp()
    return not _descends(process)


def _descends(process: int) -> bool:
    """Return whether a process is this one or its descendant, or has ended, so that no signal reaches it."""
    ancestor = process
    with undisturbed():
        while ancestor > 1:
            if ancestor == unpatched.getpid():
                return True
            try:
                with open(f"/proc/{ancestor}/stat", "rb") as file:
                    ancestor = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                return not os.path.exists(f"/proc/{process}") and os.path.exists("/proc/self")
    return False


def digests_of(path: str | None) -> tuple[str, str]:
    """Return two digests of a path's content: of all of it, and of the content without times.

    Links and folders have a description instead, and a missing path has `ABSENT`. Both are empty for a file of more
    than `MOST_COMPARED` bytes.
    """
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
    return tuple(  # type: ignore[return-value]  # always two
        hashlib.sha256(version.encode("utf-8", "surrogatepass")).hexdigest()
        for version in (text, _TIMES.sub("", text))
    )


def without_times(text: str) -> str:
    """Return a text without dates, times of day, timestamps and durations."""
    return _TIMES.sub("", text)


def _flush(paths: set[str]) -> None:
    """Flush the program's open file objects on these paths, whose content is about to be compared."""
    kinds = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
    for file in instances_of(*kinds):
        if type(file) not in kinds:
            continue
        try:
            name = file.name
            if (
                isinstance(name, str)
                and not file.closed
                and file.writable()
                and os.path.realpath(name) in paths
            ):
                file.flush()
        except (OSError, ValueError, AttributeError):  # closed in the meantime, or detached
            continue


# --- comparison --------------------------------------------------------------------------------------------------------


Severity: TypeAlias = Literal["error", "notice"]


class OutsideDifference(NamedTuple):
    """One difference between the effects of a recorded run and of its replay."""

    effect: OutsideEffect
    severity: Severity
    """`notice` if only times differ, if nothing could be compared, or if the effect is at no line of the project."""
    message: str


def differences(
    recorded: Sequence[OutsideEffect],
    replayed: Sequence[OutsideEffect],
    digests: Callable[[str], tuple[str, str]],
) -> list[OutsideDifference]:
    """Return the differences between the files and databases that two runs changed outside every boundary.

    Args:
        recorded: the effects of the recorded run.
        replayed: the effects of the replay.
        digests: returns both digests of a path in the replay, by the path's name in reports; empty if they are unknown.
    """
    differing = []
    known = {effect.what for effect in recorded if effect.kind in _STATE}
    for effect in recorded:
        if effect.kind not in _STATE:
            continue
        path, digest, rough = effect.what, *digests(effect.what)
        # "?" is no line of the project: a library changed the file, or a child that was given its program as text.
        grave: Severity = "error" if effect.site != "?" else "notice"
        if not effect.digest or not digest:
            reason = effect.reason or "its content before the recorded run is not here"
            differing.append(
                OutsideDifference(effect, "notice", f"the content of {path} is not compared: {reason}")
            )
        elif digest == effect.digest:
            continue
        elif rough == effect.rough:
            message = f"{path} differs from the recorded run only in times"
            differing.append(OutsideDifference(effect, "notice", message))
        elif digest == ABSENT:
            message = f"{effect.site} no longer {effect.does} {path}, which it did when it was recorded"
            differing.append(OutsideDifference(effect, grave, message))
        else:
            message = f"the content of {path} differs from the recorded run; it is written at {effect.site}"
            differing.append(OutsideDifference(effect, grave, message))
    for effect in replayed:
        if effect.kind in _STATE and effect.what not in known:
            grave = "error" if effect.site != "?" else "notice"
            message = f"{effect.site} {effect.does} {effect.what}, which it did not when it was recorded"
            differing.append(OutsideDifference(effect, grave, message))
    return differing


_STATE = ("file", "database")
"""Kinds of effects whose target is a path."""
