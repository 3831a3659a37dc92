"""Keep a copy-on-write view of the file system for one replay.

Changes go to a scratch folder, and a changed file is read from there. A file of which the trace has a snapshot is read
as it was before the recorded run. All other files are read from their place on the disk. Nothing outside the scratch
folder is written.

    files/PATH         a file or folder as the replay has left it
    gone/PATH/.gone    PATH was removed, with everything below it

The whole state is on disk, so that the processes of one replay share it. All paths are absolute, and the symbolic links
in their parent folders are resolved.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple
from weakref import WeakSet

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.file_copies import copy_content, copy_file
from autochron.effects.scratch_folders import new_folder, remove_folder
from autochron.effects.undisturbed import undisturbed

_GONE = ".gone"

_MOST_LINKS = 40
"""Most symbolic links that are followed for one path; Linux has the same limit."""

_KERNEL = ("/dev/", "/proc/", "/sys/")
"""The kernel's folders, which hold no files of a user."""


class Before(NamedTuple):
    """The state of a path before the recorded run opened it.

    Attributes:
        kind: `absent` means that there was nothing.
        content: the file that holds the content; None unless the kind is `file` or `sqlite`.
        mode: permission bits.
        names: the names in a folder.
        modified: modification time in nanoseconds since 1970; 0 if unknown.
        target: the target of a symbolic link.
    """

    kind: Literal["file", "sqlite", "absent", "folder", "link"]
    content: str | None = None
    mode: int = 0o644
    names: frozenset[str] = frozenset()
    modified: int = 0
    target: str = ""


class Scratch:
    """The scratch folder of one replay. The first change creates it, and `discard` removes it."""

    def __init__(
        self, before: dict[str, Before] | None = None, folder: str | None = None, *, is_joined: bool = False
    ) -> None:
        """Set up, without creating the folder.

        Args:
            before: the states of paths before the recorded run, by path.
            folder: the scratch folder; None for a new one.
            is_joined: whether the folder belongs to another process of the replay, which removes it.
        """
        self.is_shared = is_joined
        """Whether other processes may change the folder, so that this one does not know all its paths."""
        self.folder = folder or new_folder()
        self._is_joined = is_joined
        self._process = unpatched.getpid()
        self.before = before or {}
        self.written: dict[str, None] = {}
        """The paths that this process has changed, in the order of their first change."""
        self._files, self._gone = os.path.join(self.folder, "files"), os.path.join(self.folder, "gone")
        self.has_links = any(state.kind == "link" for state in self.before.values())
        """Whether symbolic links may differ from those on the disk."""
        self.handles: WeakSet[Any] = WeakSet()
        """The program's file objects that write to the scratch folder."""
        self.on_gone: Callable[[str], None] = lambda _: None
        """Called with each path that is about to be removed or moved away. There is no audit event for that."""
        self._temporary: set[str] = set()
        """Temporary files and folders, which are not redirected."""
        self._names: set[str] = set()
        """Last components of the paths that this folder knows, for the quick check of `may_know`."""
        self._absent = frozenset(path for path, state in self.before.items() if state.kind == "absent")
        self._folders: set[str] = set()
        """The folders that existed before the recorded run."""
        for path, state in self.before.items():
            self._know(path)
            if state.kind == "folder":
                self._folders.add(path)
            elif state.kind != "absent":
                self._folders.update(_parents(path))
        for path in self._folders:
            if not os.path.isdir(path):
                self._know(path)

    # --- reading -----------------------------------------------------------------------------------------------------

    @property
    def has_any(self) -> bool:
        """Whether any path is known here."""
        return bool(self._names)

    def may_know(self, path: str) -> bool:
        """Return False if a path, as the program writes it, can't mean a path known here. This is a quick check."""
        return self.is_shared or (bool(self._names) and not self._names.isdisjoint(path.split("/")))

    def knows(self, path: str) -> bool:
        """Return whether a path was changed here, or belongs to the state before the recorded run."""
        return (
            path in self.before
            or path in self._folders
            or os.path.lexists(self._files + path)
            or self._is_gone(path)
        )

    def leaves_alone(self, path: str) -> bool:
        """Return whether a path is never redirected: the kernel's, a temporary file, or one in the scratch folder."""
        # multiprocessing has its sockets in folders pymp-….
        if path.startswith((*_KERNEL, self.folder)) or "/pymp-" in path:
            return True
        return any(path == temporary or path.startswith(f"{temporary}/") for temporary in self._temporary)

    def leave_alone(self, path: str) -> None:
        """Exempt a temporary file or folder from redirection: its name is random, so it is no part of the state."""
        self._temporary.add(path)

    def to_read(self, path: str) -> str:
        """Return the file to read for a path; it does not exist if the replay sees nothing at the path."""
        changed = self._files + path
        if os.path.lexists(changed):
            if is_real_folder(changed) and not self._is_gone(path) and os.path.isdir(path):
                return path  # created here only because something below it was changed
            return changed
        if self._is_gone(path):
            return changed  # nothing exists there
        state = self.before.get(path)
        if state is not None and state.content is not None:
            return self._copied(path)
        if state is not None and state.kind == "link":
            return self._linked(path, state.target)
        if path in self._folders and not os.path.isdir(path):
            self._make_folder(path)
            return changed
        return path

    def exists(self, path: str) -> bool:
        """Return whether a path exists, as the replay sees it."""
        return os.path.lexists(self.to_read(path))

    def names_in(self, path: str) -> list[str] | None:
        """Return the names in a folder as the replay sees it; None if the names on the disk are right.

        Raises:
            OSError: the path is no folder.
        """
        changed, state = self._files + path, self.before.get(path)
        has_changes = os.path.isdir(changed)
        removed = self._removed_in(path)
        absent = {
            os.path.basename(absent_path)
            for absent_path in self._absent
            if os.path.dirname(absent_path) == path
        }
        if not (has_changes or removed or absent or self._is_gone(path)) and (
            state is None or state.kind != "folder"
        ):
            return None
        names: dict[str, None] = {}
        if not self._is_gone(path) and os.path.isdir(path):
            on_disk = os.listdir(path)
            names = dict.fromkeys(
                on_disk if state is None or state.kind != "folder" else _kept(on_disk, state.names)
            )
        for old_path, old in self.before.items():
            if os.path.dirname(old_path) == path and old.kind in {"file", "link", "sqlite"}:
                names[os.path.basename(old_path)] = None
        names |= dict.fromkeys(
            os.path.basename(folder) for folder in self._folders if os.path.dirname(folder) == path
        )
        for name in (*removed, *absent):
            names.pop(name, None)
        names |= dict.fromkeys(os.listdir(changed) if has_changes else ())
        if not names and not os.path.isdir(self.to_read(path)):
            os.listdir(self.to_read(path))  # raises the error for a path that is no folder
        return list(names)

    def resolve(self, path: str) -> str:
        """Resolve all symbolic links in an absolute path, as the replay sees them."""
        if not self.has_links and not self.is_shared:
            return os.path.realpath(path)
        resolved, pending, links = "/", path.split("/")[::-1], 0
        while pending:
            name = pending.pop()
            if name == os.pardir:
                resolved = os.path.dirname(resolved)
            elif name not in {"", os.curdir}:
                candidate = os.path.join(resolved, name)
                place = self.to_read(candidate)
                if not os.path.islink(place) or links == _MOST_LINKS:
                    resolved = candidate
                    continue
                links += 1
                target = os.readlink(place)
                resolved = "/" if target.startswith("/") else resolved
                pending += target.split("/")[::-1]
        return resolved

    def followed(self, path: str) -> str:
        """Follow symbolic links at the end of a path, as opening it would; return the path that they lead to."""
        for _ in range(_MOST_LINKS):
            place = self.to_read(path)
            if not os.path.islink(place):
                return path
            path = self._led_to(path, os.readlink(place))
        return path

    # --- writing -----------------------------------------------------------------------------------------------------

    def to_write(self, path: str, *, is_whole: bool = False) -> str:
        """Return the scratch file of a path that is about to be written, and copy the current content to it.

        If the folder of a new file is missing, the returned path leads nowhere, so that the caller's call raises as it
        would on the disk.

        Args:
            path: the path, as the program means it.
            is_whole: whether the content is about to be replaced, so that it need not be copied.

        Raises:
            StoreError: the file is too large to be copied, or no regular file.
        """
        changed = self._files + path
        if os.path.lexists(changed):
            self._note(path)
            return changed
        place = self.to_read(path)
        if place == changed:
            if os.path.lexists(changed):  # `to_read` has just copied it from a snapshot
                self._note(path)
                return changed
            # Nothing exists there.
            if not os.path.isdir(self.to_read(os.path.dirname(path))):
                return os.path.join(changed, "missing")
            self._make_parents(path)
        elif not os.path.lexists(place):
            if not os.path.isdir(self.to_read(os.path.dirname(path))):
                return place
            self._make_parents(path)
        elif is_real_folder(place):
            self._make_folder(path)
        else:
            self._make_parents(path)
            copy_file(place, changed, path, is_whole=is_whole)
        self._note(path)
        return changed

    def remove(self, path: str) -> None:
        """Remove a path, with everything below it, from the replay's view."""
        self.on_gone(path)
        self.has_links |= os.path.islink(path)
        changed = self._files + path
        if is_real_folder(changed):
            remove_folder(changed)
        elif os.path.lexists(changed):
            os.unlink(changed)
        self._mark_gone(path)
        self._note(path)

    def move(self, path: str, target: str) -> None:
        """Move a file or a whole folder."""
        self.has_links |= os.path.islink(self.to_read(path))
        source, changed = self._gathered(path), self._files + target
        self._make_parents(target)
        if is_real_folder(changed) and is_real_folder(source):
            remove_folder(changed)
        hides_older = os.path.lexists(target) or target in self.before
        os.replace(source, changed)
        if hides_older and is_real_folder(changed):
            self._mark_gone(target)
        self._note(target)
        self.remove(path)

    def fork(self, folder: str | None = None) -> None:
        """Continue in a forked process with a copy of the folder, so that later forks start from the same state.

        Args:
            folder: path of the copy; by default one beside the folder, so that only one fork at a time can have it.
        """
        before, self.folder = self.folder, folder or f"{self.folder}.fork"
        self._process = unpatched.getpid()
        self._files, self._gone = os.path.join(self.folder, "files"), os.path.join(self.folder, "gone")
        with undisturbed():
            remove_folder(self.folder)
            if os.path.isdir(before):
                import shutil  # lazy: 4 ms that most replays save

                shutil.copytree(before, self.folder, symlinks=True)

    def discard_fork(self) -> None:
        """Remove the copy of a forked process that could not do so itself."""
        with undisturbed():
            remove_folder(f"{self.folder}.fork")

    def discard(self) -> None:
        """Remove the scratch folder, if this process has created it."""
        is_own = unpatched.getpid() == self._process
        if is_own and not self._is_joined and os.path.isdir(self.folder):
            with undisturbed():
                remove_folder(self.folder)

    def flush(self) -> None:
        """Flush the program's file objects, so that a change is seen when it is written and not at the end."""
        for handle in list(self.handles) if self.handles else ():
            try:
                if not handle.closed:
                    handle.flush()
            except (OSError, ValueError, AttributeError):  # closed in the meantime, or detached
                continue

    # --- changes -----------------------------------------------------------------------------------------------------

    def changed_paths(self) -> list[str]:
        """Return the paths of files that were changed, created or removed, ordered."""
        paths: dict[str, None] = {}
        with undisturbed():
            for folder, folders, names in os.walk(self._files):
                names += [name for name in folders if os.path.islink(os.path.join(folder, name))]
                paths |= {os.path.join(folder, name)[len(self._files) :]: None for name in names}
            for folder, _, names in os.walk(self._gone):
                if _GONE in names:
                    paths |= dict.fromkeys(self._lost_below(folder[len(self._gone) :]))
        return sorted(paths)

    def now_at(self, path: str) -> str | None:
        """Return the file with the current content of a changed path; None if it was removed, or is no regular file."""
        changed = self._files + path
        if os.path.islink(changed):
            place = self.to_read(self.followed(path))
            return place if os.path.isfile(place) else None
        return changed if os.path.isfile(changed) else None

    def before_at(self, path: str) -> str | None:
        """Return the file with a path's content before the replay; None if there was none."""
        state = self.before.get(path)
        if state is not None and state.kind == "link":
            return self.before_at(self._led_to(path, state.target))
        if state is not None and state.kind != "folder":
            return state.content
        return path if os.path.isfile(path) else None

    def link_now(self, path: str) -> str | None:
        """Return the current target of a symbolic link; None if the path is no link."""
        changed = self._files + path
        if self._is_gone(path) and not os.path.lexists(changed):
            return None
        place = changed if os.path.lexists(changed) else path
        return os.readlink(place) if os.path.islink(place) else None

    def link_before(self, path: str) -> str | None:
        """Return the target of a symbolic link before the replay; None if the path was no link."""
        state = self.before.get(path)
        if state is not None:
            return state.target or None
        return os.readlink(path) if os.path.islink(path) else None

    def mode_before(self, path: str) -> int | None:
        """Return the permission bits of a file before the replay; None if there was no file."""
        state = self.before.get(path)
        if state is not None and state.kind == "link":
            return self.mode_before(self._led_to(path, state.target))
        if state is not None and state.kind != "folder":
            return state.mode if state.content else None
        return os.stat(path).st_mode & 0o777 if os.path.isfile(path) else None

    def _lost_below(self, path: str) -> Iterable[str]:
        """Return the files at and below a removed path that were not created again."""
        old_paths = [
            snapshot_path
            for snapshot_path, state in self.before.items()
            if f"{snapshot_path}/".startswith(f"{path}/") and (state.content or state.kind == "link")
        ]
        if is_real_folder(path):
            for folder, folders, names in os.walk(path):
                links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
                old_paths += [os.path.join(folder, name) for name in (*names, *links)]
        elif os.path.lexists(path):
            old_paths.append(path)
        return [
            old_path
            for old_path in old_paths
            if not os.path.lexists(self._files + old_path)
            and (self.before_at(old_path) is not None or self.link_before(old_path) is not None)
        ]

    # --- inside ------------------------------------------------------------------------------------------------------

    def _note(self, path: str) -> None:
        self.written.setdefault(path)
        self._know(path)

    def _know(self, path: str) -> None:
        """Remember the last component of a path for `may_know`."""
        self._names.add(os.path.basename(path))

    def know_as(self, path: str, named: str) -> None:
        """Remember the name by which the program calls a known path. It differs through a symbolic link."""
        if path in self.before or path in self.written:
            self._names.add(os.path.basename(named))

    def _is_gone(self, path: str) -> bool:
        """Return whether a path or a parent folder was removed, or did not exist before the recorded run."""
        has_marks = os.path.isdir(self._gone)
        while len(path) > 1:
            if path in self._absent or (has_marks and os.path.lexists(f"{self._gone}{path}/{_GONE}")):
                return True
            path = os.path.dirname(path)
        return False

    def _mark_gone(self, path: str) -> None:
        os.makedirs(self._gone + path, exist_ok=True)
        with open(os.path.join(self._gone + path, _GONE), "wb"):
            pass

    def _removed_in(self, path: str) -> list[str]:
        """Return the names of removed entries of a folder."""
        folder = self._gone + path
        if not os.path.isdir(folder):
            return []
        return [name for name in os.listdir(folder) if os.path.lexists(os.path.join(folder, name, _GONE))]

    def _make_parents(self, path: str) -> None:
        os.makedirs(os.path.dirname(self._files + path), exist_ok=True)

    def _make_folder(self, path: str) -> None:
        os.makedirs(self._files + path, exist_ok=True)

    def _copied(self, path: str) -> str:
        """Copy a snapshot's content to the scratch folder; return the copy."""
        state, changed = self.before[path], self._files + path
        assert state.content is not None  # noqa: S101 - files and databases have a content
        self._make_parents(path)
        temporary = f"{changed}.{unpatched.get_ident():x}.copy"
        copy_content(state.content, temporary)
        os.chmod(temporary, state.mode | stat.S_IWUSR)
        if state.modified:
            os.utime(temporary, ns=(state.modified, state.modified))
        os.replace(temporary, changed)
        return changed

    def _led_to(self, path: str, target: str) -> str:
        """Return the absolute path of a link's target, with the links in its parent folders resolved."""
        parent, name = os.path.split(os.path.abspath(os.path.join(os.path.dirname(path), target)))
        return os.path.join(self.resolve(parent), name)

    def _linked(self, path: str, target: str) -> str:
        """Create a snapshot's symbolic link in the scratch folder; return its path."""
        changed = self._files + path
        self._make_parents(path)
        os.symlink(target, changed)
        return changed

    def _gathered(self, path: str) -> str:
        """Return the scratch copy of a file, or of a folder with everything below it."""
        place = self.to_read(path)
        if not is_real_folder(place):
            return self.to_write(path)
        self._make_folder(path)
        for name in self.names_in(path) or os.listdir(place):
            self._gathered(os.path.join(path, name))
        return self._files + path


def is_real_folder(path: str) -> bool:
    """Return whether a path is a folder, and not a link to one."""
    return os.path.isdir(path) and not os.path.islink(path)


def _parents(path: str) -> list[str]:
    """Return all parent folders of a path, up to the root."""
    folders = []
    while len(path) > 1:
        path = os.path.dirname(path)
        folders.append(path)
    return folders


def _kept(names: list[str], known: frozenset[str]) -> list[str]:
    return [name for name in names if name in known]
