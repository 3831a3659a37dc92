"""Our copies of Python's constants equal the originals."""

import inspect

from autochron._runtime import codeflags


def test_code_flags_equal_those_of_inspect():
    named = {name: value for name, value in vars(codeflags).items() if name.startswith("CO_")}
    assert named == {name: getattr(inspect, name) for name in named}
    assert named
