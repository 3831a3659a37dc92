"""What a trace's header says of where and how it was made."""

from __future__ import annotations

import os
import sys
import time

from autochron import _originals
from autochron.envelope.redaction import Redactor
from autochron.model import Command, Header, Rules

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_id() -> str:
    """Make a ULID: 26 characters that sort by time of creation."""
    number = (_originals.time_ns() // 1_000_000) << 80 | int.from_bytes(_originals.urandom(10), "big")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def header(rules: Rules, command: Command, redactor: Redactor, name: str | None = None) -> Header:
    """Describe a run that begins now."""
    now = _originals.time_ns()
    created = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 1_000_000_000))
    return Header(
        id=new_id(),
        created=f"{created}.{now // 1_000_000 % 1000:03d}Z",
        command=command,
        name=name,
        python=".".join(str(part) for part in sys.version_info[:3]),
        environment=tuple(
            (variable, redactor.mask_url(_originals.environ[variable]))
            for variable in environment_names(rules)
            if variable in _originals.environ
        ),
        rules=rules.digest,
    )


def environment_names(rules: Rules) -> tuple[str, ...]:
    """Give the variables that change where or what a program's SDKs call."""
    return tuple(dict.fromkeys(name for pack in rules.packs for name in pack.environment))


def credential_names(rules: Rules) -> tuple[str, ...]:
    """Give the variables that a program's SDKs demand."""
    return tuple(dict.fromkeys(name for pack in rules.packs for name in pack.credentials))


def folder_of(rules: Rules) -> str:
    """Give the working folder relative to the rules' root, or as it is where it lies elsewhere."""
    here = os.getcwd()
    root = rules.root or here
    if here == root or here.startswith(os.path.join(root, "")):
        return os.path.relpath(here, root).replace(os.sep, "/")
    return here
