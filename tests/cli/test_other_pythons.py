"""The message on a Python that is not supported."""

import runpy
import sys
import types
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "autochron" / "__init__.py"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"version_info": (3, 10, 13)},
            "autochron runs on Python 3.11 and newer, and this is 3.10; use one of those",
        ),
        (
            {"implementation": types.SimpleNamespace(name="pypy"), "version_info": (3, 11, 15)},
            "autochron runs on CPython only, and this is pypy 3.11; use CPython 3.11 or newer",
        ),
        (
            {"abiflags": "t", "version_info": (3, 14, 0)},
            "this Python 3.14 is built without the GIL, where autochron has not been verified; use the usual build",
        ),
        (
            {"gettotalrefcount": int, "version_info": (3, 14, 0)},
            "this Python 3.14 is a debug build, where autochron has not been verified; use the usual build",
        ),
    ],
    ids=["too old", "another implementation", "without the GIL", "a debug build"],
)
@pytest.mark.parametrize("arguments", [["agent.py"], ["-m"]], ids=["imported", "run"])
def test_a_python_that_is_not_supported_is_refused_in_one_line(
    changes, message, arguments, monkeypatch, capsys
):
    for name, value in changes.items():
        monkeypatch.setattr(sys, name, value, raising=False)
    monkeypatch.setattr(sys, "argv", arguments)
    source = compile(PACKAGE.read_text("utf-8"), str(PACKAGE), "exec")
    if arguments == ["-m"]:
        with pytest.raises(SystemExit) as ended:
            exec(source, {"__name__": "autochron"})
        assert (ended.value.code, capsys.readouterr().err) == (2, f"{message}\n")
    else:
        with pytest.raises(ImportError) as caught:
            exec(source, {"__name__": "autochron"})
        assert str(caught.value) == message


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 15, 2), (3, 16, 0)])
def test_newer_pythons_are_not_refused(version, monkeypatch):
    monkeypatch.setattr(sys, "version_info", version)
    assert runpy.run_path(str(PACKAGE))["__version__"]
