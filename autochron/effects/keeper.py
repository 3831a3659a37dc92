"""Snapshots of a recorded run: what files and databases held before the program opened them for the first time.

An audit hook tells of each opening before it takes place. What a program is about to write is copied then, by content and
once per content, to a folder beside the store; what it only reads inside a boundary is noted by its digest. A program that
opens nothing of the kind costs nothing.
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
"""Bytes of a file that is kept without a rule."""

MOST_OF_ALL = 8 << 20
"""Bytes of one run that are kept without a rule."""

MOST_BY_RULE = 1 << 30
"""Bytes of a file that is kept because a rule asks for it."""

MOST_NAMES = 1_000
"""Names of a folder that are kept."""

MOST_READS = 1_000
"""Files that were read and are noted by their digests."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_NOT_STATE = re.compile(
    r"/(\.autochron|\.git|\.hg|\.svn|\.?venv[^/]*|\.tox|\.nox|node_modules|site-packages|__pycache__|"
    r"\.(pytest|mypy|ruff|hypothesis)(_cache)?)(/|$)|\.py[co]?$|\.pyi$"
)
"""Folders and files that are tools' and code's, and no state of an agent."""


_NOBODYS = (
    "/dev/",
    "/proc/",
    "/sys/",
    os.path.join(os.path.realpath(unpatched.temporary_folder()), ""),
)
"""Folders whose files are the kernel's or a moment's."""


_WHOLE_FOLDERS = frozenset({"os.rename", "os.rmdir", "shutil.rmtree"})
"""Events by which a whole folder may go."""


class StateKeeper:
    """Keeps what one run is about to change."""

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
        """Take where snapshots go, and the root of the project.

        Args:
            folder: where contents are kept.
            root: the folder that paths are relative to.
            rules: the [[snapshot]] tables.
            automatic: whether small files are kept without a table.
            own: our own files, such as the store.
            is_inside: tells whether a boundary is open around what runs now.
            began: when the trace began, in nanoseconds of `perf_counter_ns`.
        """
        self._folder = folder
        self._root = os.path.realpath(root)
        self._roots = tuple(
            dict.fromkeys(
                each
                for each in (os.path.join(self._root, ""), os.path.join(os.path.realpath(os.curdir), ""))
                if each != "/"
            )
        )
        self._patterns = [(each, os.path.normpath(os.path.join(self._root, each.path))) for each in rules]
        self._automatic = automatic
        self._own = tuple(os.path.realpath(each) for each in own)
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
        """Take in an audit event, before what it tells of takes place."""
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
        """Take in that something is about to be changed that is not opened."""
        for at, folder_at in CHANGED_PATHS[event]:
            given = arguments[at]
            if isinstance(given, int):
                given = path_of_descriptor(given)
            if not isinstance(given, (str, bytes, os.PathLike)):
                continue
            folder = arguments[folder_at] if folder_at is not None and folder_at < len(arguments) else -1
            given = _from_folder(given, folder)
            self._touched(given, writes=True, is_link=event not in FOLLOWS_LINKS)
            if event in _WHOLE_FOLDERS:
                self._keep_folder(given)

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return what was kept, in order of paths."""
        return tuple(self._kept[path] for path in sorted(self._kept))

    def reads(self) -> tuple[FileRead, ...]:
        """Return the files that were read inside a boundary and that are not kept."""
        return tuple(each for path, each in sorted(self._reads.items()) if path not in self._kept)

    def unmatched(self) -> list[SnapshotRule]:
        """Return the tables whose path was neither there nor opened."""
        return [
            rule for rule, pattern in self._patterns if rule not in self._matched and not _is_there(pattern)
        ]

    # --- inside ------------------------------------------------------------------------------------------------------

    def _touched(self, given: Any, *, writes: bool, is_database: bool = False, is_link: bool = False) -> None:
        """Keep what a path holds; with `is_link` of a symbolic link where it leads, and not what is there."""
        with undisturbed():
            try:
                path = os.path.abspath(os.fsdecode(given))
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
        """Note a file outside the project that a boundary writes: what it held is not kept without a rule."""
        if path.startswith((*_NOBODYS, *self._own)) or path in self._kept or _NOT_STATE.search(path):
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
        root = next(each for each in self._roots if path.startswith(each))
        return _NOT_STATE.search(path[len(root) - 1 :]) is None

    def _keep(self, path: str, rule: SnapshotRule | None, *, wrote: bool) -> None:
        with self._lock:
            known = self._kept.get(path)
            if known is not None:
                if wrote and not known.wrote:
                    self._kept[path] = _with_wrote(known)
                return
            made = self._snapshot(path, rule, wrote=wrote)
            if made is not None:
                self._kept[path] = made

    def _snapshot(self, path: str, rule: SnapshotRule | None, *, wrote: bool) -> Snapshot | None:
        """Copy what a path holds now."""
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
        most = MOST_BY_RULE if rule is not None else MOST_OF_ONE
        if facts.st_size > most:
            reason = f"{facts.st_size / 1e6:,.1f} MB, more than the {most / 1e6:,.1f} MB that are kept"
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

    def _list(self, given: Any) -> None:
        """Keep the names in a folder."""
        with undisturbed():
            try:
                path = os.path.realpath(os.path.abspath(os.fsdecode(given)))
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
                made = Snapshot(path=self.shown(path), kind="folder", names=tuple(names), at=at)
                self._kept.setdefault(path, made)

    def _keep_folder(self, given: Any) -> None:
        """Keep all that is in a folder which is about to go."""
        with undisturbed():
            try:
                top = os.path.realpath(os.path.abspath(os.fsdecode(given)))
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
            from autochron.effects.changes import (
                digest_of,
            )  # lazy: hashlib takes 3 ms, and few programs read files

            self._reads[path] = FileRead(self.shown(path), digest_of(path))
        except OSError:
            return

    def shown(self, path: str) -> str:
        """Return a path relative to the root where it lies below it."""
        inside = path.startswith(self._root + os.sep) or path == self._root
        return os.path.relpath(path, self._root).replace(os.sep, "/") if inside else path


def _from_folder(given: Any, folder: Any) -> Any:
    """Return a path that starts from a folder's descriptor; -1 stands for the working folder."""
    text = os.fsdecode(given)
    if not isinstance(folder, int) or folder < 0 or os.path.isabs(text):
        return given
    start = path_of_descriptor(folder)
    return given if start is None else os.path.join(start, text)


def _with_wrote(snapshot: Snapshot) -> Snapshot:
    from msgspec.structs import replace  # lazy: it is rare

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
