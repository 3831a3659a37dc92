"""Other tools that change a program on import."""

import importlib.util
import sys

import pytest

PYTHON = sys.executable


def needs(tool):
    """Return a mark that skips a test if a tool isn't installed."""
    return pytest.mark.skipif(importlib.util.find_spec(tool) is None, reason=f"{tool} is not installed")
