"""A copy-on-write view of the file system for one replay.

What a replay changes goes to a scratch folder, and what it reads comes from there where it was changed. What a file held
before the recorded run opened it comes from a snapshot. Everything else is read where it lies. Nothing outside the scratch
folder is written.

    files/PATH         a file or folder as the replay has left it
    gone/PATH/.gone    PATH was removed, with all that lay below it

All of it is on disk, so that the processes of one replay share it. Paths are absolute, with the symbolic links of their
parent folders resolved.
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
"""Symbolic links that are followed, as Linux does."""

_KERNEL = ("/dev/", "/proc/", "/sys/")
"""Folders whose files are the kernel's: nothing there is a user's file."""


class Before(NamedTuple):
    """What a path held before the recorded run opened it.

    Attributes:
        kind: `file`, `sqlite`, `absent`, `link`, or `folder` with the names that it had.
        content: the file that holds it; None for what is absent and for folders.
        mode: permission bits.
        names: of a folder.
        modified: when it was changed last, in nanoseconds since 1970; 0 where that is not known.
        target: where a symbolic link leads.
    """

    kind: Literal["file", "sqlite", "absent", "folder", "link"]
    content: str | None = None
    mode: int = 0o644
    names: frozenset[str] = frozenset()
    modified: int = 0
    target: str = ""


class Scratch:
    """The scratch folder of one replay. It is made when something is first changed, and removed by `discard`."""

    def __init__(
        self, before: dict[str, Before] | None = None, folder: str | None = None, *, is_joined: bool = False
    ) -> None:
        """Take what paths held before the recorded run, and a folder; with `is_joined` that of another process."""
        self.is_shared = is_joined
        """Whether other processes may change it, so that this one doesn't know all that is there."""
        self.folder = folder or new_folder()
        self._is_joined = is_joined
        self._process = unpatched.getpid()
        self.before = before or {}
        self.written: dict[str, None] = {}
        """The paths that this process has changed, in order."""
        self._files, self._gone = os.path.join(self.folder, "files"), os.path.join(self.folder, "gone")
        self.has_links = any(found.kind == "link" for found in self.before.values())
        """Whether symbolic links may be others than those on the disk."""
        self.handles: WeakSet[Any] = WeakSet()
        """The file objects by which the program writes here."""
        self.on_gone: Callable[[str], None] = lambda _: None
        """Is told of each path that is about to be removed or moved away: no audit event tells of it."""
        self._temporary: set[str] = set()
        self._names: set[str] = set()
        self._absent = frozenset(path for path, found in self.before.items() if found.kind == "absent")
        self._folders: set[str] = set()
        """The folders that were there before the recorded run."""
        for path, found in self.before.items():
            self._know(path)
            if found.kind == "folder":
                self._folders.add(path)
            elif found.kind != "absent":
                self._folders.update(_parents(path))
        for path in self._folders:
            if not os.path.isdir(path):
                self._know(path)

    # --- looking -----------------------------------------------------------------------------------------------------

    @property
    def has_any(self) -> bool:
        """Whether there is a path that it knows."""
        return bool(self._names)

    def may_know(self, path: str) -> bool:
        """Return False where a path, as a program names it, can be none that the scratch folder or a snapshot has."""
        return self.is_shared or (bool(self._names) and not self._names.isdisjoint(path.split("/")))

    def knows(self, path: str) -> bool:
        """Return whether a path has another content here than on the disk, or belongs to the incident's state."""
        return (
            path in self.before
            or path in self._folders
            or os.path.lexists(self._files + path)
            or self._is_gone(path)
        )

    def leaves_alone(self, path: str) -> bool:
        """Return whether a path is none that is redirected: the kernel's, a temporary file's, or in here already."""
        if (
            path.startswith((*_KERNEL, self.folder)) or "/pymp-" in path
        ):  # the last are the sockets of multiprocessing
            return True
        return any(path == each or path.startswith(f"{each}/") for each in self._temporary)

    def leave_alone(self, path: str) -> None:
        """Leave a temporary file or folder where it is: its name is drawn by chance, so it is nobody's."""
        self._temporary.add(path)

    def to_read(self, path: str) -> str:
        """Return where a path is read: in the scratch folder, where it lies, or where nothing is."""
        changed = self._files + path
        if os.path.lexists(changed):
            if is_real_folder(changed) and not self._is_gone(path) and os.path.isdir(path):
                return path  # a folder made here because something below it was changed
            return changed
        if self._is_gone(path):
            return changed  # there is nothing
        found = self.before.get(path)
        if found is not None and found.content is not None:
            return self._copied(path)
        if found is not None and found.kind == "link":
            return self._linked(path, found.target)
        if path in self._folders and not os.path.isdir(path):
            self._make_folder(path)
            return changed
        return path

    def exists(self, path: str) -> bool:
        """Return whether a path is there, as the replay sees it."""
        return os.path.lexists(self.to_read(path))

    def names_in(self, path: str) -> list[str] | None:
        """List a folder as the replay sees it; None where that is as it lies on the disk."""
        changed, kept = self._files + path, self.before.get(path)
        has_own = os.path.isdir(changed)
        hidden = self._removed_in(path)
        absent = {os.path.basename(each) for each in self._absent if os.path.dirname(each) == path}
        if not (has_own or hidden or absent or self._is_gone(path)) and (
            kept is None or kept.kind != "folder"
        ):
            return None
        names: dict[str, None] = {}
        if not self._is_gone(path) and os.path.isdir(path):
            own = os.listdir(path)
            names = dict.fromkeys(own if kept is None or kept.kind != "folder" else _kept(own, kept.names))
        for each in self.before:
            if os.path.dirname(each) == path and self.before[each].kind in {"file", "link", "sqlite"}:
                names[os.path.basename(each)] = None
        names |= dict.fromkeys(
            os.path.basename(each) for each in self._folders if os.path.dirname(each) == path
        )
        for name in (*hidden, *absent):
            names.pop(name, None)
        names |= dict.fromkeys(os.listdir(changed) if has_own else ())
        if not names and not os.path.isdir(self.to_read(path)):
            os.listdir(self.to_read(path))  # raises what is raised for no folder
        return list(names)

    def resolve(self, path: str) -> str:
        """Resolve all symbolic links in an absolute path, as the replay sees them."""
        if not self.has_links and not self.is_shared:
            return os.path.realpath(path)
        done, left, links = "/", path.split("/")[::-1], 0
        while left:
            name = left.pop()
            if name == os.pardir:
                done = os.path.dirname(done)
            elif name not in {"", os.curdir}:
                here = os.path.join(done, name)
                there = self.to_read(here)
                if not os.path.islink(there) or links == _MOST_LINKS:
                    done = here
                    continue
                links += 1
                target = os.readlink(there)
                done = "/" if target.startswith("/") else done
                left += target.split("/")[::-1]
        return done

    def followed(self, path: str) -> str:
        """Follow symbolic links at the end of a path, as opening it does."""
        for _ in range(_MOST_LINKS):
            there = self.to_read(path)
            if not os.path.islink(there):
                return path
            path = self._led_to(path, os.readlink(there))
        return path

    # --- changing ----------------------------------------------------------------------------------------------------

    def to_write(self, path: str, *, is_whole: bool = False) -> str:
        """Return the scratch file of a path that is about to be written, with what it holds now.

        With `is_whole` what it holds is about to be replaced.

        Raises:
            StoreError: the file is too large to be copied, or the disk has no room.
        """
        changed = self._files + path
        if os.path.lexists(changed):
            self._note(path)
            return changed
        there = self.to_read(path)
        if there == changed:
            if os.path.lexists(changed):  # it was copied from a snapshot just now
                self._note(path)
                return changed
            # Nothing is there. Python raises what it raises for a folder that is missing.
            if not os.path.isdir(self.to_read(os.path.dirname(path))):
                return os.path.join(changed, "missing")
            self._make_parents(path)
        elif not os.path.lexists(there):
            if not os.path.isdir(self.to_read(os.path.dirname(path))):
                return there
            self._make_parents(path)
        elif is_real_folder(there):
            self._make_folder(path)
        else:
            self._make_parents(path)
            copy_file(there, changed, path, is_whole=is_whole)
        self._note(path)
        return changed

    def remove(self, path: str) -> None:
        """Note that a path was removed, with all below it."""
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
        is_there = os.path.lexists(target) or target in self.before
        os.replace(source, changed)
        if is_there and is_real_folder(changed):
            self._mark_gone(target)
        self._note(target)
        self.remove(path)

    def fork(self) -> None:
        """Go on in a forked process with a copy, so that others which are forked here find what this one found."""
        before, self.folder = self.folder, f"{self.folder}.fork"
        self._process = unpatched.getpid()
        self._files, self._gone = os.path.join(self.folder, "files"), os.path.join(self.folder, "gone")
        with undisturbed():
            remove_folder(self.folder)
            if os.path.isdir(before):
                import shutil  # lazy: 4 ms that most replays save

                shutil.copytree(before, self.folder, symlinks=True)

    def discard_fork(self) -> None:
        """Remove what a forked process has left that could not."""
        with undisturbed():
            remove_folder(f"{self.folder}.fork")

    def discard(self) -> None:
        """Remove the scratch folder; the process that made it does so."""
        is_own = unpatched.getpid() == self._process
        if is_own and not self._is_joined and os.path.isdir(self.folder):
            with undisturbed():
                remove_folder(self.folder)

    def flush(self) -> None:
        """Write what waits in file objects of the program, so that it is seen when it was written and not at the end."""
        for each in list(self.handles) if self.handles else ():
            try:
                if not each.closed:
                    each.flush()
            except (OSError, ValueError, AttributeError):  # closed meanwhile, or detached
                continue

    # --- what was changed --------------------------------------------------------------------------------------------

    def changed_paths(self) -> list[str]:
        """List the files that are other than they were, or gone, in order of their paths."""
        found: dict[str, None] = {}
        with undisturbed():
            for folder, folders, names in os.walk(self._files):
                names += [name for name in folders if os.path.islink(os.path.join(folder, name))]
                found |= {os.path.join(folder, name)[len(self._files) :]: None for name in names}
            for folder, _, names in os.walk(self._gone):
                if _GONE in names:
                    found |= dict.fromkeys(self._lost_below(folder[len(self._gone) :]))
        return sorted(found)

    def now_at(self, path: str) -> str | None:
        """Return the scratch file of a changed path; None where it was removed."""
        changed = self._files + path
        if os.path.islink(changed):
            there = self.to_read(self.followed(path))
            return there if os.path.isfile(there) else None
        return changed if os.path.isfile(changed) else None

    def before_at(self, path: str) -> str | None:
        """Return the file with what a path held before; None where there was none."""
        found = self.before.get(path)
        if found is not None and found.kind == "link":
            return self.before_at(self._led_to(path, found.target))
        if found is not None and found.kind != "folder":
            return found.content
        return path if os.path.isfile(path) else None

    def link_now(self, path: str) -> str | None:
        """Return where a symbolic link leads now; None for what is none."""
        changed = self._files + path
        if self._is_gone(path) and not os.path.lexists(changed):
            return None
        there = changed if os.path.lexists(changed) else path
        return os.readlink(there) if os.path.islink(there) else None

    def link_before(self, path: str) -> str | None:
        """Return where a symbolic link led before; None for what was none."""
        found = self.before.get(path)
        if found is not None:
            return found.target or None
        return os.readlink(path) if os.path.islink(path) else None

    def mode_before(self, path: str) -> int | None:
        """Return the permission bits that a path had before; None where there was none."""
        found = self.before.get(path)
        if found is not None and found.kind == "link":
            return self.mode_before(self._led_to(path, found.target))
        if found is not None and found.kind != "folder":
            return found.mode if found.content else None
        return os.stat(path).st_mode & 0o777 if os.path.isfile(path) else None

    def _lost_below(self, path: str) -> Iterable[str]:
        """List the files that a removed path had, and that are not there again."""
        had = [
            each
            for each, found in self.before.items()
            if f"{each}/".startswith(f"{path}/") and (found.content or found.kind == "link")
        ]
        if is_real_folder(path):
            for folder, folders, names in os.walk(path):
                links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
                had += [os.path.join(folder, name) for name in (*names, *links)]
        elif os.path.lexists(path):
            had.append(path)
        return [
            each
            for each in had
            if not os.path.lexists(self._files + each)
            and (self.before_at(each) is not None or self.link_before(each) is not None)
        ]

    # --- inside ------------------------------------------------------------------------------------------------------

    def _note(self, path: str) -> None:
        self.written.setdefault(path)
        self._know(path)

    def _know(self, path: str) -> None:
        """Remember the name of a path, by which calls that can't mean it are told at once."""
        self._names.add(os.path.basename(path))

    def know_as(self, path: str, named: str) -> None:
        """Remember under which name the program knows a path: through a symbolic link it is another."""
        if path in self.before or path in self.written:
            self._names.add(os.path.basename(named))

    def _is_gone(self, path: str) -> bool:
        """Return whether a path, or a folder that it lies in, was removed, or wasn't there when the run began."""
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
        folder = self._gone + path
        if not os.path.isdir(folder):
            return []
        return [name for name in os.listdir(folder) if os.path.lexists(os.path.join(folder, name, _GONE))]

    def _make_parents(self, path: str) -> None:
        os.makedirs(os.path.dirname(self._files + path), exist_ok=True)

    def _make_folder(self, path: str) -> None:
        os.makedirs(self._files + path, exist_ok=True)

    def _copied(self, path: str) -> str:
        """Copy what a snapshot holds to the scratch folder."""
        found, changed = self.before[path], self._files + path
        assert found.content is not None  # noqa: S101 - a file or a database has one
        self._make_parents(path)
        temporary = f"{changed}.{unpatched.get_ident():x}.copy"
        copy_content(found.content, temporary)
        os.chmod(temporary, found.mode | stat.S_IWUSR)
        if found.modified:
            os.utime(temporary, ns=(found.modified, found.modified))
        os.replace(temporary, changed)
        return changed

    def _led_to(self, path: str, target: str) -> str:
        """Return where a symbolic link leads, with the links in its parent folders resolved."""
        parent, name = os.path.split(os.path.abspath(os.path.join(os.path.dirname(path), target)))
        return os.path.join(self.resolve(parent), name)

    def _linked(self, path: str, target: str) -> str:
        """Make a symbolic link in the scratch folder as it was."""
        changed = self._files + path
        self._make_parents(path)
        os.symlink(target, changed)
        return changed

    def _gathered(self, path: str) -> str:
        """Return the scratch copy of a file, or of a whole folder."""
        there = self.to_read(path)
        if not is_real_folder(there):
            return self.to_write(path)
        self._make_folder(path)
        for name in self.names_in(path) or os.listdir(there):
            self._gathered(os.path.join(path, name))
        return self._files + path


def is_real_folder(path: str) -> bool:
    """Return whether a path is a folder itself, and no link to one."""
    return os.path.isdir(path) and not os.path.islink(path)


def _parents(path: str) -> list[str]:
    """Return the folders that a path lies in, up to the root."""
    found = []
    while len(path) > 1:
        path = os.path.dirname(path)
        found.append(path)
    return found


def _kept(names: list[str], known: frozenset[str]) -> list[str]:
    return [name for name in names if name in known]
