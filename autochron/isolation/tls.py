"""Certificates of servers: a process in which nothing reaches a server needs none."""

from __future__ import annotations

import ssl
from typing import Any

from autochron._runtime.unpatched import os


def trust_nobody() -> None:
    """Have no client read certificates, 70 ms each: here no connection is made that they could be needed for."""
    contexts: Any = ssl.SSLContext
    read = contexts.load_verify_locations

    def load(context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        if cafile is None or capath is not None or cadata is not None or not os.path.isfile(cafile):
            read(context, cafile, capath, cadata)

    contexts.load_verify_locations = load
