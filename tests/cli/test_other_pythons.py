"""The message on a Python version that is not supported."""

import runpy
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "autochron" / "__init__.py"


@pytest.mark.parametrize("version", [(3, 10, 13), (3, 14, 0), (4, 0, 0)])
def test_an_unsupported_python_is_refused_in_one_line(version, monkeypatch):
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(ImportError) as caught:
        runpy.run_path(str(PACKAGE))
    assert str(caught.value) == (
        f"autochron runs on Python 3.11, 3.12 and 3.13, and this is {version[0]}.{version[1]}; use one of those"
    )
