"""Keep snapshots of files and databases as they were before a recorded program first opened them.

Audit events announce each opening and each change before it takes place. A file that the program is about to write is
then copied to a folder beside the store, each content once. A file that is only read inside a boundary is noted by its
digest. A program that opens no such file causes no work here.
"""

from __future__ import annotations

import fnmatch
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.databases import SIDE_FILES, database_path, is_database
from autochron.effects.events import CHANGED_PATHS, FOLLOWS_LINKS, LISTS, path_of_descriptor
from autochron.effects.snapshots import SnapshotFolder
from autochron.effects.undisturbed import is_busy, undisturbed
from autochron.errors import StoreError
from autochron.model import FileRead, Snapshot, SnapshotRule

MOST_OF_ONE = 1 << 20
"""Largest size in bytes of a file that is kept without a [[snapshot]] table."""

MOST_OF_ALL = 8 << 20
"""Most bytes of one run that are kept without a [[snapshot]] table."""

MOST_BY_RULE = 1 << 30
"""Largest size in bytes of a file that is kept because of a [[snapshot]] table."""

MOST_NAMES = 1_000
"""Most names that are kept of a folder; a larger folder is not kept."""

MOST_READS = 1_000
"""Most files whose reading is noted."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_NOT_STATE = re.compile(
    r"/(\.autochron|\.git|\.hg|\.svn|\.?venv[^/]*|\.tox|\.nox|node_modules|site-packages|__pycache__|"
    r"\.(pytest|mypy|ruff|hypothesis)(_cache)?)(/|$)|\.py[co]?$|\.pyi$"
)
"""Matches the paths of tools' folders and of code, which are no state of an agent."""

_OUTSIDE_STATE = (
    "/dev/",
    "/proc/",
    "/sys/",
    os.path.join(os.path.realpath(unpatched.temporary_folder()), ""),
)
"""Folders outside the project whose files are no state: the kernel's, and temporary files."""


_WHOLE_FOLDERS = frozenset({"os.rename", "os.rmdir", "shutil.rmtree"})
"""Events by which a folder may vanish with all its files."""


class StateKeeper:
    """Keeps snapshots of the files that one run is about to change."""

    def __init__(
        self,
        folder: SnapshotFolder,
        root: str,
        *,
        rules: Sequence[SnapshotRule] = (),
        automatic: bool = True,
        own: Iterable[str] = (),
        is_inside: Callable[[], bool],
        began: int,
    ) -> None:
        """Set up, without reading anything yet.

        Args:
            folder: the folder for contents.
            root: the project's folder, to which paths in snapshots are relative.
            rules: the [[snapshot]] tables.
            automatic: whether small files are kept without a table.
            own: autochron's own files, such as the store. They are never kept.
            is_inside: returns whether the running code is inside a boundary.
            began: when the trace began, in nanoseconds of `perf_counter_ns`.
        """
        self._folder = folder
        self._root = os.path.realpath(root)
        self._roots = tuple(
            dict.fromkeys(
                folder_path
                for folder_path in (
                    os.path.join(self._root, ""),
                    os.path.join(os.path.realpath(os.curdir), ""),
                )
                if folder_path != "/"
            )
        )
        self._patterns = [(rule, os.path.normpath(os.path.join(self._root, rule.path))) for rule in rules]
        self._automatic = automatic
        self._own = tuple(os.path.realpath(path) for path in own)
        self._is_inside = is_inside
        self._began = began
        self._left = MOST_OF_ALL
        self._lock = unpatched.RLock()
        self._kept: dict[str, Snapshot] = {}
        self._reads: dict[str, FileRead] = {}
        self._matched: set[SnapshotRule] = set()

    def __len__(self) -> int:
        return len(self._kept) + len(self._reads)

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Handle an audit event, which comes before the operation itself."""
        if is_busy():
            return
        if event == "open":
            path, _, flags = (*arguments, 0, 0)[:3]
            if isinstance(path, int) or path is None:
                return
            writes = bool((flags or 0) & _WRITES)
            if writes or self._patterns or self._is_inside():
                self._touched(path, writes=writes)
        elif event == "sqlite3.connect":
            path, _ = database_path(arguments[0], is_uri=True)
            if path is not None:
                self._touched(path, writes=True, is_database=True)
        elif event in LISTS:
            if self._automatic and self._is_inside() and not isinstance(arguments[0], int):
                self._list(arguments[0] or ".")
        else:
            self._changed(event, arguments)

    def _changed(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Handle an event that changes a path without opening it."""
        for path_at, folder_at in CHANGED_PATHS[event]:
            argument = arguments[path_at]
            if isinstance(argument, int):
                argument = path_of_descriptor(argument)
            if not isinstance(argument, (str, bytes, os.PathLike)):
                continue
            folder = arguments[folder_at] if folder_at is not None and folder_at < len(arguments) else -1
            argument = _from_folder(argument, folder)
            self._touched(argument, writes=True, is_link=event not in FOLLOWS_LINKS)
            if event in _WHOLE_FOLDERS:
                self._keep_folder(argument)

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return the snapshots, ordered by path."""
        return tuple(self._kept[path] for path in sorted(self._kept))

    def reads(self) -> tuple[FileRead, ...]:
        """Return the files that were read inside a boundary and of which there is no snapshot, ordered by path."""
        return tuple(read for path, read in sorted(self._reads.items()) if path not in self._kept)

    def unmatched(self) -> list[SnapshotRule]:
        """Return the [[snapshot]] tables whose path was never opened and does not exist."""
        return [
            rule for rule, pattern in self._patterns if rule not in self._matched and not _is_there(pattern)
        ]

    # --- inside ------------------------------------------------------------------------------------------------------

    def _touched(
        self, argument: Any, *, writes: bool, is_database: bool = False, is_link: bool = False
    ) -> None:
        """Keep or note the file at a path.

        With `is_link` a symbolic link at the end of the path is not followed: the link itself is kept.
        """
        with undisturbed():
            try:
                path = os.path.abspath(os.fsdecode(argument))
                if is_link:
                    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
                else:
                    path = os.path.realpath(path)
            except (TypeError, ValueError, OSError):
                return
            if path.endswith(SIDE_FILES) and os.path.exists(path.rpartition("-")[0]):
                path = path.rpartition("-")[0]
            rule = self._rule_for(path)
            is_state = self._is_state(path)
            inside = self._is_inside()
            if rule is None and not (is_state and self._automatic):
                if writes and inside and self._automatic:
                    self._note_foreign(path)
                return
            if writes or rule is not None:
                self._keep(path, rule, wrote=writes and inside)
                if writes and inside and is_state and not is_database and not os.path.lexists(path):
                    self._list(os.path.dirname(path))
            elif inside and path not in self._reads:
                self._note_read(path)

    def _note_foreign(self, path: str) -> None:
        """Note a file outside the project that a boundary writes. It is not kept without a [[snapshot]] table."""
        if path.startswith((*_OUTSIDE_STATE, *self._own)) or path in self._kept or _NOT_STATE.search(path):
            return
        if not path.startswith(self._roots):
            reason, at = "it lies outside the project", unpatched.perf_counter_ns() - self._began
            self._kept[path] = Snapshot(path=path, kind="not-kept", reason=reason, at=at, wrote=True)

    def _rule_for(self, path: str) -> SnapshotRule | None:
        for rule, pattern in self._patterns:
            if path == pattern or path.startswith(f"{pattern}/") or fnmatch.fnmatchcase(path, pattern):
                self._matched.add(rule)
                return rule
        return None

    def _is_state(self, path: str) -> bool:
        if not path.startswith(self._roots) or path.startswith(self._own):
            return False
        root = next(candidate for candidate in self._roots if path.startswith(candidate))
        return _NOT_STATE.search(path[len(root) - 1 :]) is None

    def _keep(self, path: str, rule: SnapshotRule | None, *, wrote: bool) -> None:
        with self._lock:
            known = self._kept.get(path)
            if known is not None:
                if wrote and not known.wrote:
                    self._kept[path] = _with_wrote(known)
                return
            snapshot = self._snapshot(path, rule, wrote=wrote)
            if snapshot is not None:
                self._kept[path] = snapshot

    def _snapshot(self, path: str, rule: SnapshotRule | None, *, wrote: bool) -> Snapshot | None:
        """Copy what is at a path; return None for folders, and for character devices that no table names."""
        shown, at = self.shown(path), unpatched.perf_counter_ns() - self._began
        common: dict[str, Any] = {"path": shown, "at": at, "by_rule": rule is not None, "wrote": wrote}
        try:
            facts = os.lstat(path)
        except OSError:
            return Snapshot(kind="absent", **common)
        if stat.S_ISLNK(facts.st_mode):
            return Snapshot(kind="link", target=os.readlink(path), **common)
        if stat.S_ISDIR(facts.st_mode):
            return None
        common |= {"size": facts.st_size, "mode": stat.S_IMODE(facts.st_mode), "modified": facts.st_mtime_ns}
        if not stat.S_ISREG(facts.st_mode):
            if stat.S_ISCHR(facts.st_mode) and rule is None:
                return None
            return Snapshot(kind="not-kept", reason=f"it is {_kind_of(facts.st_mode)}, and no file", **common)
        limit = MOST_BY_RULE if rule is not None else MOST_OF_ONE
        if facts.st_size > limit:
            reason = f"{facts.st_size / 1e6:,.1f} MB, more than the {limit / 1e6:,.1f} MB that are kept"
            return Snapshot(kind="not-kept", reason=reason, **common)
        if rule is None and facts.st_size > self._left:
            reason = f"{MOST_OF_ALL / 1e6:,.1f} MB of this run are kept already"
            return Snapshot(kind="not-kept", reason=reason, **common)
        try:
            database = is_database(path)
            digest = self._folder.keep(path, is_database=database)
        except (OSError, StoreError) as error:
            reason = (
                error.message if isinstance(error, StoreError) else f"it can't be read ({error.strerror})"
            )
            return Snapshot(kind="not-kept", reason=reason, **common)
        if rule is None:
            self._left -= facts.st_size
        return Snapshot(kind="sqlite" if database else "file", digest=digest, **common)

    def _list(self, argument: Any) -> None:
        """Keep the names of a folder's entries."""
        with undisturbed():
            try:
                path = os.path.realpath(os.path.abspath(os.fsdecode(argument)))
            except (TypeError, ValueError, OSError):
                return
            if path in self._kept or not self._is_state(os.path.join(path, "x")):
                return
            try:
                names = sorted(os.listdir(path))
            except OSError:
                return
            if len(names) <= MOST_NAMES:
                at = unpatched.perf_counter_ns() - self._began
                snapshot = Snapshot(path=self.shown(path), kind="folder", names=tuple(names), at=at)
                self._kept.setdefault(path, snapshot)

    def _keep_folder(self, argument: Any) -> None:
        """Keep all files below a folder that is about to vanish."""
        with undisturbed():
            try:
                top = os.path.realpath(os.path.abspath(os.fsdecode(argument)))
            except (TypeError, ValueError, OSError):
                return
            if not os.path.isdir(top):
                return
            for folder, _, names in os.walk(top):
                self._list(folder)
                for name in names:
                    self._touched(os.path.join(folder, name), writes=True)

    def _note_read(self, path: str) -> None:
        if len(self._reads) >= MOST_READS or path in self._kept:
            return
        try:
            facts = os.stat(path)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > MOST_OF_ALL:
                return
            from autochron.effects.changes import digest_of  # lazy: hashlib takes 3 ms

            self._reads[path] = FileRead(self.shown(path), digest_of(path))
        except OSError:
            return

    def shown(self, path: str) -> str:
        """Return a path relative to the project's root if it lies below it; otherwise the path itself."""
        inside = path.startswith(self._root + os.sep) or path == self._root
        return os.path.relpath(path, self._root).replace(os.sep, "/") if inside else path


def _from_folder(path: Any, folder: Any) -> Any:
    """Return a path joined to the folder of a descriptor; -1 means the working folder, and leaves the path as it is."""
    text = os.fsdecode(path)
    if not isinstance(folder, int) or folder < 0 or os.path.isabs(text):
        return path
    start = path_of_descriptor(folder)
    return path if start is None else os.path.join(start, text)


def _with_wrote(snapshot: Snapshot) -> Snapshot:
    from msgspec.structs import replace  # lazy: rarely needed

    return replace(snapshot, wrote=True)


def _kind_of(mode: int) -> str:
    if stat.S_ISSOCK(mode):
        return "a socket"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a device"


def _is_there(pattern: str) -> bool:
    import glob  # lazy: few rules have a [[snapshot]]

    return bool(glob.glob(pattern))
