"""What is kept by hand of what Python says elsewhere is what Python says."""

import inspect

from autochron._runtime import codeflags


def test_flags_of_code_are_those_of_inspect():
    named = {name: value for name, value in vars(codeflags).items() if name.startswith("CO_")}
    assert named == {name: getattr(inspect, name) for name in named}
    assert named
