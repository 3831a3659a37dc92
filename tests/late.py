"""Libraries that are imported when a test first uses them, rather than when the tests are collected.

Anthropic's SDK alone has 2,900 modules. Each recording with rules of its own looks at all modules of the process, so a test
that records takes several times as long once the SDKs are imported. Tests marked `sdks` import them, and run last.
"""

import contextlib
import importlib
import sys


class LateLibrary:
    """A library whose attributes are looked up in the module, which the first look-up imports."""

    def __init__(self, name):
        self.__name__ = name

    def __getattr__(self, name):
        if name.startswith("_"):  # pytest asks each object of a module for some when it collects
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


SDKS = ("aiohttp", "anthropic", "httpx", "httpx2", "openai")
"""The libraries, of those that tests import, with the most modules, and those whose clients every recording weaves."""

anthropic, httpx, httpx2, openai = map(LateLibrary, ("anthropic", "httpx", "httpx2", "openai"))

are_expected = False
"""Whether a test that may import the SDKs has begun in this process."""

_AT_START = sys.modules.keys() & {*SDKS}
"""The SDKs that plugins of pytest have imported."""


def imported():
    """Return the names of the SDKs that have been imported since the start."""
    return sorted(sys.modules.keys() & {*SDKS} - _AT_START)


def import_all():
    """Import all SDKs that are installed."""
    for name in SDKS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
