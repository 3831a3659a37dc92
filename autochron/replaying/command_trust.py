"""Trust in the command that a trace names. A replay runs this command, and a trace may come from anyone.

The command runs without a question if it lies inside the root, and one of these holds:

- This user recorded the trace in this folder. A tag in the trace's header proves that.
- Git tracks the trace file, as it tracks the program.

Otherwise the user is shown the command and asked. If nobody can be asked, `--trust DIGEST` allows it, with the digest of
the command.
"""

from __future__ import annotations

import sys
from _blake2 import blake2b  # not hashlib, which loads OpenSSL
from collections.abc import Sequence

from msgspec import structs
from msgspec.json import encode

from autochron import user_key
from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.errors import UntrustedTraceError
from autochron.escaping import shell_word, visible
from autochron.model import Command, Header, Rules

_PREFIX = {"script": (), "module": ("-m",), "console": ("--",), "block": ()}
_DIGEST = 8
"""The size in bytes of the digest that `--trust` takes."""

_QUIET_GIT = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
"""Options that keep git from running programs that a repository's settings name."""


def seal(header: Header, root: str) -> Header:
    """Return the header with a tag that marks the user's own recordings; without one if the user has no key.

    Args:
        header: of the recording that begins.
        root: the root of the project, which the tag covers, too.
    """
    key = user_key.user_key(b"command")
    return header if key is None else structs.replace(header, seal=_tag(key, header.command, root))


def refuse_foreign(
    header: Header, reference: str, rules: Rules, words: Sequence[str], trusted: str | None = None
) -> None:
    """Ask the user whether to run the recorded command, unless it is known to be trusted.

    Args:
        header: of the trace.
        reference: the trace as the user named it. A path ends with `.jsonl`.
        rules: has the root in which the command must lie.
        words: our own command line, which an error shows with the option `--trust` added.
        trusted: the digest that the option `--trust` names; None without that option.

    Raises:
        UntrustedTraceError: the command is not trusted, and the user did not agree or can't be asked.
    """
    command = header.command
    digest = digest_of(command)
    if command.mode == "block" or trusted == digest:
        return
    root = rules.root or os.getcwd()
    reason = _reason(header, reference, root)
    if reason is None and trusted is None:
        return
    line = " ".join(
        ["python", *map(shell_word, [*_PREFIX[command.mode], command.target, *command.arguments])]
    )
    folder = os.path.normpath(os.path.join(root, visible(command.folder)))
    description = f"trace {visible(header.id)} runs `{line}` in {folder}"
    if trusted is not None:
        raise UntrustedTraceError(
            f"{description}, whose digest is {digest} and not the {trusted} that --trust names"
        )
    if _is_agreed(f"autochron: {description}, {reason}. Run it? [y/N] "):
        return
    own_command = " ".join(map(shell_word, ["autochron", *words]))
    raise UntrustedTraceError(f"{description}, {reason}; if that is meant: {own_command} --trust {digest}")


def digest_of(command: Command) -> str:
    """Return the digest of a command: 16 hexadecimal digits."""
    return blake2b(_text(command), digest_size=_DIGEST).hexdigest()


def _reason(header: Header, reference: str, root: str) -> str | None:
    """Return why a command must not run without a question; None if it may."""
    command = header.command
    if not _is_inside(command, root):
        return "which lies outside the root"
    key = user_key.user_key(b"command")
    if key is not None and header.seal == _tag(key, command, root):
        return None
    if reference.endswith(".jsonl") and _is_tracked(reference):
        return None
    return "and was not recorded here"


def _tag(key: bytes, command: Command, root: str) -> str:
    return blake2b(_text(command) + os.fsencode(os.path.realpath(root)), key=key, digest_size=16).hexdigest()


def _text(command: Command) -> bytes:
    return encode([command.mode, command.target, command.arguments, command.folder])


def _is_inside(command: Command, root: str) -> bool:
    """Return whether the folder and the script of a command lie in the root. Symbolic links are resolved."""
    if "\0" in command.folder + command.target:
        return False
    top = os.path.join(os.path.realpath(root), "")
    folder = os.path.realpath(os.path.join(root, command.folder))
    places = (
        [folder, os.path.realpath(os.path.join(folder, command.target))]
        if command.mode == "script"
        else [folder]
    )
    return all(os.path.join(place, "").startswith(top) for place in places)


def _is_tracked(file: str) -> bool:
    """Return whether git tracks a file. Programs that the repository's settings name are not run for that."""
    folder, name = os.path.split(os.path.abspath(file))
    environment = {key: value for key, value in unpatched.environ.items() if not key.startswith("GIT_")}
    import subprocess  # lazy: every recording imports this module, and few replays ask git

    try:
        done = subprocess.run(
            ["git", *_QUIET_GIT, "ls-files", "--error-unmatch", "--", name],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _is_agreed(question: str) -> bool:
    """Ask on the terminal, and return whether the answer is yes. Return False without a terminal."""
    try:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        sys.stderr.write(question)
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes"}
    except (OSError, ValueError, AttributeError):  # there is no standard input
        return False
