"""The user's secret key, with which autochron signs its own data: woven code, messages to child processes, and commands.

It lies in a file that only the user can read, in the user's configuration folder; where that can't be written, in a private
folder among the temporary files. Owner, mode and kind of the file are checked on the open descriptor. The key is never
written into a trace.
"""

from __future__ import annotations

import stat
from _blake2 import blake2b  # not hashlib, which loads OpenSSL
from typing import Final

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os

_NAME: Final = "user.key"
_LENGTH: Final = 64
"""The number of hexadecimal digits in the file."""

_TAG: Final = 16
"""The bytes of a tag."""

_CLOSED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_known: dict[tuple[str, ...], tuple[str, bytes]] = {}


class UnsafePlaceError(OSError):
    """A folder or a file belongs to another user, is of the wrong kind, or is open to others."""


def user_key(purpose: bytes) -> bytes | None:
    """Return a key of 32 bytes that is the same in all processes of a user, and different for each purpose.

    The secret that it is derived from is made if there is none.

    Args:
        purpose: at most 16 bytes.

    Returns:
        The key; None where no secret can be read or made.
    """
    located = _secret()
    return None if located is None else _derived(located[1], purpose)


def key_file() -> str | None:
    """Return the path of the secret's file, for a process with another environment; None where there is none."""
    located = _secret()
    return None if located is None else located[0]


def tag_of(purpose: bytes, text: bytes, file: str) -> str | None:
    """Sign a text with the secret in a file.

    Args:
        purpose: at most 16 bytes; other purposes have other tags.
        text: what is signed.
        file: the secret's file. It must be the user's own, and nobody else may read it.

    Returns:
        32 hexadecimal digits; None where the file can't be read.
    """
    try:
        secret = _read(file)
    except (OSError, ValueError):
        return None
    return blake2b(text, key=_derived(secret, purpose), digest_size=_TAG).hexdigest()


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return blake2b(secret, person=purpose, digest_size=32).digest()


def _secret() -> tuple[str, bytes] | None:
    """Return the secret and the path of its file, (path, secret); None where none can be read or made."""
    folders = _folders()
    located = _known.get(folders)
    if located is None:
        for folder in folders:
            file = os.path.join(folder, _NAME)
            secret = _secret_in(folder, file)
            if secret is not None:
                located = _known[folders] = file, secret
                break
    return located


def open_own_folder(path: str) -> int:
    """Open a folder that belongs to the user, and that nobody else may read or change.

    Returns:
        A descriptor, which the caller closes.

    Raises:
        UnsafePlaceError: the folder belongs to another user, or is open to others.
        OSError: it can't be opened; it may be a symbolic link.
    """
    return _opened(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0), stat.S_ISDIR, 0o077)


def open_own_file(path: str | bytes, folder: int | None = None) -> int:
    """Open a file that belongs to the user, and that nobody else may change, for reading.

    Args:
        path: the file.
        folder: the descriptor of a folder that a relative path starts from; None for the working folder.

    Returns:
        A descriptor, which the caller closes.

    Raises:
        UnsafePlaceError: it is no regular file, belongs to another user, or others may write it.
        OSError: it can't be opened; it may be a symbolic link.
    """
    return _opened(path, os.O_RDONLY | getattr(os, "O_BINARY", 0), stat.S_ISREG, 0o022, folder)


def _opened(path: str | bytes, flags: int, is_kind: object, others: int, folder: int | None = None) -> int:
    descriptor = os.open(path, flags | _CLOSED, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if not is_kind(status.st_mode):  # type: ignore[operator]
            raise UnsafePlaceError("it is of another kind")
        if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
            raise UnsafePlaceError("it belongs to another user")
        if os.name == "posix" and stat.S_IMODE(status.st_mode) & others:
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
            os.link(new, file)  # unlike a rename it never replaces a file, and the file is complete at once
        finally:
            os.unlink(new)
    except FileExistsError:  # another process has made it meanwhile
        try:
            return _read(file)
        except (OSError, ValueError):
            return None
    except OSError:
        return None
    return secret
