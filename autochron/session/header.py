"""What a trace's header says of where and how it was made."""

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
    """Describe a run that begins now; its name, and what was run, are masked."""
    command, name = _masked(rules.redact, command, name)
    now = unpatched.time_ns()
    created = _second(now // 1_000_000_000)
    made = Header(
        id=new_id(),
        created=f"{created}.{now // 1_000_000 % 1000:03d}Z",
        command=command,
        name=name,
        python=_PYTHON,
        autochron=__version__,
        rules=rules.digest,
        children=children,
        ambient=bool(rules.ambient or rules.ambients),
        hash_seed=hashseed.current(),
        typed=True,
    )
    return made if command.mode == "block" else seal(made, rules.root or os.getcwd())


@lru_cache(maxsize=64)
def _masked(redact: RedactRule, command: Command, name: str | None) -> tuple[Command, str | None]:
    """Mask what was run, and its name: a service opens many sessions that have the same."""
    redactor = Redactor(redact.names, patterns=redact.patterns)
    return redactor.mask_texts(command), redactor.mask_texts(name)


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def environment(rules: Rules, redactor: Redactor) -> tuple[tuple[str, str], ...]:
    """Return the variables that change where or what a program's SDKs call, masked."""
    if not rules.packs:
        return ()
    names = dict.fromkeys(name for pack in rules.packs for name in pack.environment)
    found = unpatched.environ
    return tuple((name, redactor.mask_url(found[name])) for name in names if name in found)


def credentials(rules: Rules) -> tuple[str, ...]:
    """Return the variables that a program's SDKs demand and that are set."""
    if not rules.packs:
        return ()
    names = dict.fromkeys(name for pack in rules.packs for name in pack.credentials)
    return tuple(name for name in names if name in unpatched.environ)


def versions(rules: Rules) -> tuple[tuple[str, str], ...]:
    """Return the versions of the libraries that packs cover and the program imported."""
    if not rules.packs:
        return ()
    found = ((pack.distribution, version_of(pack.distribution)) for pack in rules.packs)
    return tuple((name, version) for name, version in found if version)


def other_versions(header: Header, footer: Footer | None) -> str | None:
    """Say in which versions a recorded run differs from one here and now; None where in none that matters."""
    was = [] if footer is None else [(name, version, version_of(name)) for name, version in footer.versions]
    was.append(("Python", _minor(header.python), _minor(_PYTHON)))
    other = [(name, then, now) for name, then, now in was if then and then != now]
    if not other:
        return None
    then = ", ".join(f"{name} {version}" for name, version, _ in other)
    now = ", ".join(f"{name} {version}" if version else f"no {name}" for name, _, version in other)
    return f"it was recorded with {then}, and here is {now}: what differs may come of that (version-mismatch)"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def untested(rules: Rules) -> tuple[Unwoven, ...]:
    """Name the libraries whose major version is none that their pack was tested with."""
    found: list[Unwoven] = []
    for pack in rules.packs:
        version = version_of(pack.distribution)
        if version and _major(version) not in {_major(each) for each in pack.tested}:
            tested = ", ".join(pack.tested) or "none"
            reason = f"the pack was tested with {tested}; look whether all crossings are there"
            found.append(Unwoven(f"{pack.distribution} {version}", reason, UNTESTED))
    return tuple(found)


def _major(version: str) -> str:
    return version.partition(".")[0]


def folder_of(rules: Rules) -> str:
    """Return the working folder relative to the rules' root, or as it is where it lies elsewhere."""
    here = os.getcwd()
    root = rules.root or here
    if here == root:
        return "."
    if here.startswith(os.path.join(root, "")):
        return os.path.relpath(here, root).replace(os.sep, "/")
    return here
