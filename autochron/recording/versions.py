"""Versions of installed distributions."""

from __future__ import annotations

import sys

_versions: dict[str, str | None] = {}


def version_of(distribution: str) -> str | None:
    """Return the installed version of a distribution; None if it is not installed."""
    if distribution not in _versions:
        module = sys.modules.get(distribution.replace("-", "_"))
        version = getattr(module, "__version__", None)
        _versions[distribution] = version if isinstance(version, str) else _metadata_version(distribution)
    return _versions[distribution]


def _metadata_version(distribution: str) -> str | None:
    from importlib import metadata  # lazy: 20 ms

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
