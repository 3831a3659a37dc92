"""Put off the loading of CA certificates until a connection needs them."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from autochron._runtime.unpatched import os

_NEEDING = ("wrap_socket", "wrap_bio", "cert_store_stats", "get_ca_certs")
"""Methods of `SSLContext` that need the certificates, or show them."""

_pending: WeakKeyDictionary[ssl.SSLContext, list[str]] = WeakKeyDictionary()
"""The CA files that a context has not loaded yet."""


def defer_ca_loading() -> None:
    """Make contexts load CA files only when a connection is made, or when their certificates are asked for.

    Loading them takes 30 to 70 ms for each client, and hardly any replayed client makes a connection.
    """
    contexts: Any = ssl.SSLContext
    load_original = contexts.load_verify_locations
    if getattr(load_original, "__module__", None) == __name__:
        return

    def load_verify_locations(
        context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None
    ) -> None:
        if isinstance(cafile, str) and capath is None and cadata is None and os.path.isfile(cafile):
            _pending.setdefault(context, []).append(os.path.abspath(cafile))
        else:
            load_original(context, cafile, capath, cadata)

    def loading(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(context: ssl.SSLContext, *arguments: Any, **keywords: Any) -> Any:
            for cafile in _pending.pop(context, ()):
                load_original(context, cafile)
            return original(context, *arguments, **keywords)

        return method

    contexts.load_verify_locations = load_verify_locations
    for name in _NEEDING:
        setattr(contexts, name, loading(getattr(contexts, name)))
