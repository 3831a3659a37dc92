"""The user's secret, by which autochron knows again what it wrote itself: woven code, what a child process is told, commands.

It lies in a file that only the user can read, in the folder of the user's settings; where that can't be written, in a folder
of the user's own among the temporary files. Owner, mode and kind are checked on the descriptor that is read. Nothing of it
is ever written into a trace.
"""

from __future__ import annotations

import stat
from _blake2 import blake2b  # not hashlib, which loads OpenSSL
from typing import Final

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os

_NAME: Final = "user.key"
_LENGTH: Final = 64
"""Hexadecimal digits in the file."""

_TAG: Final = 16
"""Bytes of a tag."""

_CLOSED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_known: dict[tuple[str, ...], tuple[str, bytes]] = {}


class UnsafePlaceError(OSError):
    """A folder or a file is not the user's own, or others may change it."""


def user_key(purpose: bytes) -> bytes | None:
    """Return 32 bytes that are the same in all processes of a user, and others for each purpose; None where there are none.

    The secret is made where there is none yet.
    """
    found = _secret()
    return None if found is None else _derived(found[1], purpose)


def key_file() -> str | None:
    """Return the file that the secret lies in, for a process that may have other settings; None where there is none."""
    found = _secret()
    return None if found is None else found[0]


def tag_of(purpose: bytes, text: bytes, file: str) -> str | None:
    """Return a tag of a text by the secret in a file, as only the file's owner can make it; None where it can't be read.

    The file must be the user's own, and nobody else may read it, wherever it lies.
    """
    try:
        secret = _read(file)
    except (OSError, ValueError):
        return None
    return blake2b(text, key=_derived(secret, purpose), digest_size=_TAG).hexdigest()


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return blake2b(secret, person=purpose, digest_size=32).digest()


def _secret() -> tuple[str, bytes] | None:
    """Return the file and the secret in it."""
    folders = _folders()
    found = _known.get(folders)
    if found is None:
        for folder in folders:
            file = os.path.join(folder, _NAME)
            secret = _secret_in(folder, file)
            if secret is not None:
                found = _known[folders] = file, secret
                break
    return found


def open_own_folder(path: str) -> int:
    """Open a folder that belongs to the user, and that nobody else may read or change; the caller closes it.

    Raises:
        UnsafePlaceError: it is a link, another user's, or open to others.
        OSError: it can't be opened.
    """
    return _opened(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0), stat.S_ISDIR, 0o077)


def open_own_file(path: str | bytes, folder: int | None = None) -> int:
    """Open a file of the user's own, which nobody else may change, to read it; the caller closes it.

    Raises:
        UnsafePlaceError: it is no regular file, a link, another user's, or others may write it.
        OSError: it can't be opened.
    """
    return _opened(path, os.O_RDONLY | getattr(os, "O_BINARY", 0), stat.S_ISREG, 0o022, folder)


def _opened(path: str | bytes, flags: int, is_kind: object, others: int, folder: int | None = None) -> int:
    descriptor = os.open(path, flags | _CLOSED, dir_fd=folder)
    try:
        found = os.fstat(descriptor)
        if not is_kind(found.st_mode):  # type: ignore[operator]
            raise UnsafePlaceError("it is of another kind")
        if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
            raise UnsafePlaceError("it belongs to another user")
        if os.name == "posix" and stat.S_IMODE(found.st_mode) & others:
            raise UnsafePlaceError("others may change it" if others == 0o022 else "it is open to others")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _folders() -> tuple[str, ...]:
    environ = unpatched.environ
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    return os.path.join(base, "autochron"), os.path.join(unpatched.temporary_folder(), f"autochron-{user}")


def _secret_in(folder: str, file: str) -> bytes | None:
    try:
        return _read(file)
    except FileNotFoundError:
        return _make(folder, file)
    except (OSError, ValueError):
        return None


def _read(file: str) -> bytes:
    descriptor = open_own_file(file)
    try:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077 and os.name == "posix":
            raise UnsafePlaceError("others may read it")
        text = os.read(descriptor, _LENGTH + 2).strip()
    finally:
        os.close(descriptor)
    if len(text) != _LENGTH:
        raise ValueError(file)
    return bytes.fromhex(text.decode("ascii"))


def _make(folder: str, file: str) -> bytes | None:
    secret = unpatched.urandom(_LENGTH // 2)
    new = f"{file}.{unpatched.getpid()}.{unpatched.get_ident()}"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.close(_opened(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0), stat.S_ISDIR, 0o022))
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOSED, 0o600)
        try:
            os.write(descriptor, f"{secret.hex()}\n".encode())
        finally:
            os.close(descriptor)
        try:
            os.link(new, file)  # whole, and never in the place of another
        finally:
            os.unlink(new)
    except FileExistsError:  # another process was quicker
        try:
            return _read(file)
        except (OSError, ValueError):
            return None
    except OSError:
        return None
    return secret
