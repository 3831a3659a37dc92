"""The other tools that change a program as it is imported."""

import importlib.util
import sys

import pytest

PYTHON = sys.executable


def needs(tool):
    """Skip where a tool isn't installed, and say so."""
    return pytest.mark.skipif(importlib.util.find_spec(tool) is None, reason=f"{tool} is not installed")
