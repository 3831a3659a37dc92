"""The header of a trace: where and how it was recorded. Also facts of the environment for the footer."""

from __future__ import annotations

import sys
import time
from functools import lru_cache

from autochron import __version__
from autochron._runtime import hashseed, unpatched
from autochron._runtime.unpatched import os
from autochron.model import UNTESTED, Command, Footer, Header, RedactRule, Rules, Unwoven
from autochron.recording.versions import version_of
from autochron.redaction.redactor import Redactor
from autochron.replaying.command_trust import seal
from autochron.store.ids import new_id

_PYTHON = ".".join(str(part) for part in sys.version_info[:3])


def header(rules: Rules, command: Command, name: str | None = None, *, children: bool = False) -> Header:
    """Make the header of a trace that begins now. The command and the name are masked.

    Args:
        rules: the rules in force.
        command: what is run.
        name: name of the trace.
        children: whether child processes join the trace.
    """
    command, name = _masked(rules.redact, command, name)
    nanoseconds = unpatched.time_ns()
    created = _second(nanoseconds // 1_000_000_000)
    trace_header = Header(
        id=new_id(),
        created=f"{created}.{nanoseconds // 1_000_000 % 1000:03d}Z",
        command=command,
        name=name,
        python=_PYTHON,
        autochron=__version__,
        rules=rules.digest,
        children=children,
        ambient=bool(rules.ambient or rules.ambients),
        hash_seed=hashseed.current(),
        typed=True,
        numbered=True,
    )
    return trace_header if command.mode == "block" else seal(trace_header, rules.root or os.getcwd())


@lru_cache(maxsize=64)
def _masked(redact: RedactRule, command: Command, name: str | None) -> tuple[Command, str | None]:
    """Mask the command and the name. Cached, because a service opens many sessions with the same."""
    redactor = Redactor(redact.names, patterns=redact.patterns)
    return redactor.mask_texts(command), redactor.mask_texts(name)


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def environment(rules: Rules, redactor: Redactor) -> tuple[tuple[str, str], ...]:
    """Return the environment variables that change where or what a program's SDKs call, masked."""
    if not rules.packs:
        return ()
    names = dict.fromkeys(name for pack in rules.packs for name in pack.environment)
    variables = unpatched.environ
    return tuple((name, redactor.mask_url(variables[name])) for name in names if name in variables)


def credentials(rules: Rules) -> tuple[str, ...]:
    """Return the names of the environment variables that a program's SDKs demand and that are set."""
    if not rules.packs:
        return ()
    names = dict.fromkeys(name for pack in rules.packs for name in pack.credentials)
    return tuple(name for name in names if name in unpatched.environ)


def versions(rules: Rules) -> tuple[tuple[str, str], ...]:
    """Return the versions of the libraries that packs cover and the program imported."""
    if not rules.packs:
        return ()
    installed = ((pack.distribution, version_of(pack.distribution)) for pack in rules.packs)
    return tuple((name, version) for name, version in installed if version)


def other_versions(header: Header, footer: Footer | None) -> str | None:
    """Return a message that names the libraries whose version differs from the recorded one.

    Returns:
        None if neither a library's version nor the minor version of Python differs.
    """
    facts = [] if footer is None else [(name, version, version_of(name)) for name, version in footer.versions]
    facts.append(("Python", _minor(header.python), _minor(_PYTHON)))
    changed = [
        (name, recorded, installed)
        for name, recorded, installed in facts
        if recorded and recorded != installed
    ]
    if not changed:
        return None
    recorded = ", ".join(f"{name} {version}" for name, version, _ in changed)
    installed = ", ".join(f"{name} {version}" if version else f"no {name}" for name, _, version in changed)
    return f"it was recorded with {recorded}, and here is {installed}: what differs may come of that (version-mismatch)"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def untested(rules: Rules) -> tuple[Unwoven, ...]:
    """Return a ledger entry for each library whose major version its pack was not tested with."""
    entries: list[Unwoven] = []
    for pack in rules.packs:
        version = version_of(pack.distribution)
        if version and _major(version) not in {_major(tested_version) for tested_version in pack.tested}:
            tested = ", ".join(pack.tested) or "none"
            reason = f"the pack was tested with {tested}; look whether all crossings are there"
            entries.append(Unwoven(f"{pack.distribution} {version}", reason, UNTESTED))
    return tuple(entries)


def _major(version: str) -> str:
    return version.partition(".")[0]


def folder_of(rules: Rules) -> str:
    """Return the working folder, relative to the rules' root if it is inside of that."""
    here = os.getcwd()
    root = rules.root or here
    if here == root:
        return "."
    if here.startswith(os.path.join(root, "")):
        return os.path.relpath(here, root).replace(os.sep, "/")
    return here
