"""Whether the command that a trace names may be run: a trace may come from anyone, and a replay runs what it names.

It may where this machine's user recorded it in this very folder, which a tag in the trace's header shows, or where git
tracks the trace file, as it tracks the program. It must lie inside the root in any case. Else it is asked for, with the
command shown; where nobody can be asked, `--trust DIGEST` says yes, and the digest is of the command.
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
"""Bytes of the digest that `--trust` takes."""

_QUIET_GIT = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
"""What keeps git from running anything that a repository's settings name."""


def seal(header: Header, root: str) -> Header:
    """Return a header with a tag by which the user's own recordings are known again; without one where there is no key."""
    key = user_key.user_key(b"command")
    return header if key is None else structs.replace(header, seal=_tag(key, header.command, root))


def refuse_foreign(
    header: Header, reference: str, rules: Rules, words: Sequence[str], trusted: str | None = None
) -> None:
    """Ask whether the recorded command is to be run, where nothing shows that it may be.

    Args:
        header: of the trace.
        reference: how the trace was given; a path ends with `.jsonl`.
        rules: whose root the command is to lie in.
        words: the command line of ours, to be shown with the option that says yes.
        trusted: what was given with `--trust`.

    Raises:
        UntrustedTraceError: nobody said yes.
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
    what = f"trace {visible(header.id)} runs `{line}` in {os.path.normpath(os.path.join(root, visible(command.folder)))}"
    if trusted is not None:
        raise UntrustedTraceError(
            f"{what}, whose digest is {digest} and not the {trusted} that --trust names"
        )
    if _is_agreed(f"autochron: {what}, {reason}. Run it? [y/N] "):
        return
    again = " ".join(map(shell_word, ["autochron", *words]))
    raise UntrustedTraceError(f"{what}, {reason}; if that is meant: {again} --trust {digest}")


def digest_of(command: Command) -> str:
    """Return the digest of a command: 16 hexadecimal digits."""
    return blake2b(_text(command), digest_size=_DIGEST).hexdigest()


def _reason(header: Header, reference: str, root: str) -> str | None:
    """Return why a command is not run unasked; None where it may be."""
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
    """Return whether the folder and the script of a command lie in the root, links followed."""
    if "\0" in command.folder + command.target:
        return False
    top = os.path.join(os.path.realpath(root), "")
    folder = os.path.realpath(os.path.join(root, command.folder))
    places = (
        [folder, os.path.realpath(os.path.join(folder, command.target))]
        if command.mode == "script"
        else [folder]
    )
    return all(os.path.join(each, "").startswith(top) for each in places)


def _is_tracked(file: str) -> bool:
    """Return whether git tracks a file. Nothing that its repository's settings name is run for that."""
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
    """Ask on the terminal; no where there is none."""
    try:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        sys.stderr.write(question)
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes"}
    except (OSError, ValueError, AttributeError):  # there is no standard input
        return False
