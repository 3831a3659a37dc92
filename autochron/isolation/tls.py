"""Skip the loading of CA certificates in processes that make no connections."""

from __future__ import annotations

import ssl
from typing import Any

from autochron._runtime.unpatched import os


def skip_ca_loading() -> None:
    """Make `SSLContext.load_verify_locations` ignore CA files that exist.

    Reading one takes 70 ms for each client, and this process makes no connection that would need it.
    """
    contexts: Any = ssl.SSLContext
    load_original = contexts.load_verify_locations

    def load(context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        if cafile is None or capath is not None or cadata is not None or not os.path.isfile(cafile):
            load_original(context, cafile, capath, cadata)

    contexts.load_verify_locations = load
